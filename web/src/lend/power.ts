// What the browser says of the device: whether it runs on battery, its link is metered, it has WebGPU. Else: no.

export interface Power {
  isOnBattery: boolean;
  isMetered: boolean;
}

interface Battery extends EventTarget {
  charging: boolean;
}

interface Link extends EventTarget {
  saveData?: boolean;
  type?: string;
}

const browser = navigator as Navigator & { getBattery?: () => Promise<Battery>; connection?: Link };

function battery(): Promise<Battery | null> {
  return browser.getBattery?.().catch(() => null) ?? Promise.resolve(null);
}

export async function readPower(): Promise<Power> {
  const charge = await battery();
  const link = browser.connection;
  return {
    isOnBattery: charge !== null && !charge.charging,
    isMetered: link?.saveData === true || link?.type === "cellular",
  };
}

/** Calls back at every change. */
export function watchPower(tell: (power: Power) => void): void {
  const read = () => void readPower().then(tell);
  void battery().then((charge) => charge?.addEventListener("chargingchange", read));
  browser.connection?.addEventListener?.("change", read);
}

/** Whether a WebGPU device can be had here. */
export async function hasWebGpu(): Promise<boolean> {
  const gpu = (navigator as { gpu?: { requestAdapter(): Promise<unknown> } }).gpu;
  if (gpu === undefined) return false;
  return (await gpu.requestAdapter().catch(() => null)) !== null;
}
