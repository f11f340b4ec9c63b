// Twelve animals of circles, ellipses and a few curves, each in a square of 64.
import type { ComponentChildren } from "preact";
import type { Species } from "./beastybar_model";

const INK = "#2b2724";
const WHITE = "#fbf8f1";

function Eyes({ y = 30, apart = 7, r = 2.6 }: { y?: number; apart?: number; r?: number }) {
  return (
    <>
      <circle cx={32 - apart} cy={y} r={r} fill={INK} />
      <circle cx={32 + apart} cy={y} r={r} fill={INK} />
    </>
  );
}

function Smile({ y = 42, width = 6 }: { y?: number; width?: number }) {
  return <path d={`M${32 - width} ${y}q${width} ${width * 0.8} ${2 * width} 0`} {...LINE} />;
}

const LINE = { fill: "none", stroke: INK, "stroke-width": 2, "stroke-linecap": "round" } as const;

const DRAWN: Readonly<Record<Species, () => ComponentChildren>> = {
  lion: () => (
    <>
      {Array.from({ length: 12 }, (_, index) => {
        const angle = (index * Math.PI) / 6;
        return (
          <circle key={index} cx={32 + 19 * Math.cos(angle)} cy={32 + 19 * Math.sin(angle)} r={9} fill="#b4682a" />
        );
      })}
      <circle cx={32} cy={33} r={18} fill="#e9b35c" />
      <Eyes y={29} />
      <path d="M28 35h8l-4 5z" fill={INK} />
      <path d="M32 40v3q-4 4-8 1M32 43q4 4 8 1" {...LINE} />
    </>
  ),
  hippo: () => (
    <>
      <circle cx={17} cy={14} r={6} fill="#77798f" />
      <circle cx={47} cy={14} r={6} fill="#77798f" />
      <ellipse cx={32} cy={25} rx={19} ry={16} fill="#9496ab" />
      <ellipse cx={32} cy={43} rx={25} ry={17} fill="#a9abbd" />
      <Eyes y={21} apart={9} />
      <ellipse cx={23} cy={38} rx={3} ry={2.4} fill="#5d5f74" />
      <ellipse cx={41} cy={38} rx={3} ry={2.4} fill="#5d5f74" />
      <path d="M17 49q15 7 30 0" {...LINE} />
      <rect x={24} y={51} width={5} height={5} rx={1.5} fill={WHITE} />
      <rect x={35} y={51} width={5} height={5} rx={1.5} fill={WHITE} />
    </>
  ),
  crocodile: () => (
    <>
      <circle cx={21} cy={15} r={8} fill="#4f8a45" />
      <circle cx={43} cy={15} r={8} fill="#4f8a45" />
      <circle cx={21} cy={14} r={4.5} fill={WHITE} />
      <circle cx={43} cy={14} r={4.5} fill={WHITE} />
      <circle cx={21} cy={14} r={2.2} fill={INK} />
      <circle cx={43} cy={14} r={2.2} fill={INK} />
      <path d="M13 20h38l4 22a12 12 0 0 1-12 12H21A12 12 0 0 1 9 42z" fill="#5f9c52" />
      <path d="M11 41l4 6 5-6 4 6 4-6 4 6 4-6 4 6 4-6 5 6 4-6z" fill={WHITE} />
      <path d="M11 41h42" {...LINE} />
      <circle cx={27} cy={30} r={1.8} fill="#33602d" />
      <circle cx={37} cy={30} r={1.8} fill="#33602d" />
    </>
  ),
  snake: () => (
    <>
      <path
        d="M14 55h30a8 8 0 0 0 0-16H24a8.5 8.5 0 0 1 0-17h6"
        fill="none"
        stroke="#7d9b3a"
        stroke-width={11}
        stroke-linecap="round"
      />
      <path
        d="M14 55h30a8 8 0 0 0 0-16H24a8.5 8.5 0 0 1 0-17h4"
        fill="none"
        stroke="#c9d27a"
        stroke-width={3}
        stroke-dasharray="4 6"
      />
      <ellipse cx={38} cy={19} rx={14} ry={10.5} fill="#8fae45" />
      <circle cx={35} cy={15} r={3.6} fill={WHITE} />
      <circle cx={45} cy={15} r={3.6} fill={WHITE} />
      <circle cx={36} cy={15} r={1.9} fill={INK} />
      <circle cx={46} cy={15} r={1.9} fill={INK} />
      <path d="M51 22h6m0 0l4-3m-4 3l4 3" fill="none" stroke="#c0453b" stroke-width={2} stroke-linecap="round" />
    </>
  ),
  giraffe: () => (
    <>
      <path d="M24 36h16l4 26H20z" fill="#edc35e" />
      <path d="M24 45l6 2-1 6-6-1zM35 49l6-1 1 6-6 2zM27 57l5 0v5h-6z" fill="#a8662b" />
      <path d="M25 12V4M39 12V4" stroke="#a8662b" stroke-width={3} stroke-linecap="round" />
      <circle cx={25} cy={4} r={3} fill="#7d4a1f" />
      <circle cx={39} cy={4} r={3} fill="#7d4a1f" />
      <ellipse cx={15} cy={17} rx={7} ry={4} fill="#d9a944" />
      <ellipse cx={49} cy={17} rx={7} ry={4} fill="#d9a944" />
      <path d="M20 12h24l-3 26a9 8 0 0 1-18 0z" fill="#edc35e" />
      <ellipse cx={32} cy={37} rx={10.5} ry={8} fill="#f7e3b0" />
      <Eyes y={22} apart={8} />
      <circle cx={29} cy={35} r={1.5} fill={INK} />
      <circle cx={35} cy={35} r={1.5} fill={INK} />
      <Smile y={39} width={4} />
    </>
  ),
  zebra: () => (
    <>
      <path d="M15 18l3-12 9 8zM49 18L46 6l-9 8z" fill={WHITE} stroke={INK} stroke-width={2} stroke-linejoin="round" />
      <path d="M28 4h8l3 10H25z" fill={INK} />
      <path d="M16 15h32l-5 28a11 12 0 0 1-22 0z" fill={WHITE} stroke={INK} stroke-width={2} />
      <path d="M16 19l9 4-8 2zM48 19l-9 4 8 2zM32 14l-4 10 4 4 4-4zM18 32l7 0-6 4zM46 32l-7 0 6 4z" fill={INK} />
      <path d="M21 41h22v4a11 12 0 0 1-22 2z" fill="#55504b" />
      <Eyes y={29} apart={6} />
      <circle cx={28} cy={47} r={1.6} fill={WHITE} />
      <circle cx={36} cy={47} r={1.6} fill={WHITE} />
    </>
  ),
  seal: () => (
    <>
      <path d="M32 8c13 0 16 12 16 24 0 16-2 26-16 26S16 48 16 32C16 20 19 8 32 8z" fill="#6d8699" />
      <path d="M17 40L5 50l12 4zM47 40l12 10-12 4z" fill="#56707f" />
      <ellipse cx={32} cy={45} rx={10} ry={11} fill="#8ea5b4" />
      <Eyes y={23} apart={8} r={3} />
      <ellipse cx={32} cy={33} rx={9} ry={6} fill="#a9bdc9" />
      <ellipse cx={32} cy={30} rx={3.5} ry={2.5} fill={INK} />
      <path d="M22 33l-9-2M22 35l-9 2M42 33l9-2M42 35l9 2" stroke={INK} stroke-width={1.2} stroke-linecap="round" />
      <Smile y={34} width={3.5} />
    </>
  ),
  chameleon: () => (
    <>
      <path d="M13 30L32 6l19 24z" fill="#3f8f76" />
      <path d="M10 34a22 18 0 0 1 44 0c0 12-10 18-22 18S10 46 10 34z" fill="#55ab8e" />
      <circle cx={20} cy={30} r={10} fill="#7cc7ad" />
      <circle cx={44} cy={30} r={10} fill="#7cc7ad" />
      <circle cx={20} cy={30} r={5.5} fill={WHITE} />
      <circle cx={44} cy={30} r={5.5} fill={WHITE} />
      <circle cx={18} cy={31} r={2.8} fill={INK} />
      <circle cx={46} cy={28} r={2.8} fill={INK} />
      <path d="M20 44q12 7 24 0" {...LINE} />
      <path d="M32 48v8q0 5 5 4" fill="none" stroke="#d0566a" stroke-width={3.5} stroke-linecap="round" />
    </>
  ),
  monkey: () => (
    <>
      <circle cx={11} cy={32} r={8} fill="#8a5a3b" />
      <circle cx={53} cy={32} r={8} fill="#8a5a3b" />
      <circle cx={11} cy={32} r={4.5} fill="#dcb28a" />
      <circle cx={53} cy={32} r={4.5} fill="#dcb28a" />
      <circle cx={32} cy={31} r={22} fill="#8a5a3b" />
      <path
        d="M32 24c5-6 15-3 15 6 0 4-2 6-4 7 2 3 2 5 2 6 0 7-6 9-13 9s-13-2-13-9c0-1 0-3 2-6-2-1-4-3-4-7 0-9 10-12 15-6z"
        fill="#e5bf98"
      />
      <Eyes y={30} apart={7} />
      <circle cx={30} cy={39} r={1.3} fill={INK} />
      <circle cx={34} cy={39} r={1.3} fill={INK} />
      <Smile y={44} width={7} />
    </>
  ),
  kangaroo: () => (
    <>
      <ellipse cx={20} cy={14} rx={6} ry={13} fill="#b9814f" transform="rotate(-14 20 14)" />
      <ellipse cx={44} cy={14} rx={6} ry={13} fill="#b9814f" transform="rotate(14 44 14)" />
      <ellipse cx={20} cy={15} rx={3} ry={9} fill="#ecc7a0" transform="rotate(-14 20 15)" />
      <ellipse cx={44} cy={15} rx={3} ry={9} fill="#ecc7a0" transform="rotate(14 44 15)" />
      <path
        d="M14 32c0-10 8-14 18-14s18 4 18 14c0 8-7 12-9 18-2 7-5 10-9 10s-7-3-9-10c-2-6-9-10-9-18z"
        fill="#c99461"
      />
      <ellipse cx={32} cy={49} rx={8.5} ry={9} fill="#ecc7a0" />
      <Eyes y={32} apart={9} />
      <ellipse cx={32} cy={45} rx={4} ry={3} fill={INK} />
      <Smile y={51} width={4} />
    </>
  ),
  parrot: () => (
    <>
      <path d="M26 8q4-8 12-5-5 1-6 7z" fill="#e0a52f" />
      <path d="M14 62V28a18 18 0 0 1 36 0v34z" fill="#c9473c" />
      <path d="M14 46c8 0 12 7 12 16H14zM50 46c-8 0-12 7-12 16h12z" fill="#3a78a8" />
      <circle cx={23} cy={26} r={7.5} fill={WHITE} />
      <circle cx={41} cy={26} r={7.5} fill={WHITE} />
      <circle cx={24} cy={26} r={3} fill={INK} />
      <circle cx={40} cy={26} r={3} fill={INK} />
      <path d="M25 33q7-7 14 0 0 8-7 15-7-7-7-15z" fill="#e9b53f" />
      <path d="M26 37q6 3 12 0" {...LINE} />
    </>
  ),
  skunk: () => (
    <>
      <path d="M40 50c18 2 22-12 18-24-3-9-14-10-14-2 0 6 8 4 6 12-1 5-6 6-10 6z" fill="#3a3735" />
      <path d="M44 46c10 0 14-8 11-17" fill="none" stroke={WHITE} stroke-width={4} stroke-linecap="round" />
      <circle cx={14} cy={20} r={6} fill="#3a3735" />
      <circle cx={40} cy={20} r={6} fill="#3a3735" />
      <path d="M27 12c13 0 18 9 18 19 0 13-9 25-18 25S9 44 9 31c0-10 5-19 18-19z" fill="#3a3735" />
      <path d="M27 11c4 0 5 6 4 14l-1 9h-6l-1-9c-1-8 0-14 4-14z" fill={WHITE} />
      <circle cx={18} cy={33} r={4} fill={WHITE} />
      <circle cx={36} cy={33} r={4} fill={WHITE} />
      <circle cx={18} cy={33} r={2} fill={INK} />
      <circle cx={36} cy={33} r={2} fill={INK} />
      <ellipse cx={27} cy={46} rx={6} ry={5} fill="#6b6561" />
      <ellipse cx={27} cy={44} rx={3} ry={2.2} fill={INK} />
    </>
  ),
};

/** The drawing of an animal, for inside an svg of 64 by 64. */
export function Animal({ species }: { species: Species }) {
  return <>{DRAWN[species]()}</>;
}
