/** The address of a build of the core; see vite.config.ts. */
declare module "core:*" {
  const address: string;
  export default address;
}
