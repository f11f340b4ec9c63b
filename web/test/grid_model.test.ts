import { describe, expect, test } from "vitest";
import { columnLabel } from "../src/boards/drop_board";
import {
  cellName,
  landingRow,
  moveFocus,
  pieceOfColumn,
  starPoints,
  stoneOfCell,
  winningLine,
} from "../src/boards/grid_model";
import type { LastTurn } from "../src/boards/board";

function turn(...actions: number[]): LastTurn {
  return { player: 0, actions, texts: [], steps: [], before: null };
}

describe("boards of stones", () => {
  test("the first action is the top left cell, which is a and the highest row", () => {
    const rows = ["X..", "...", "..."];
    expect(stoneOfCell(rows, turn(0))).toEqual({ row: 0, column: 0 });
    expect(cellName(rows, 0, 0)).toBe("a3");
    expect(stoneOfCell(rows, turn(5))).toEqual({ row: 1, column: 2 });
    expect(cellName(rows, 1, 2)).toBe("c2");
  });

  test("a line is found through the last stone in all four directions", () => {
    const across = ["...", "OOO", "..."];
    expect(winningLine(across, 3, { row: 1, column: 1 })).toHaveLength(3);
    const rising = ["..X", ".X.", "X.."];
    expect(winningLine(rising, 3, { row: 2, column: 0 })).toEqual([
      { row: 0, column: 2 },
      { row: 1, column: 1 },
      { row: 2, column: 0 },
    ]);
  });

  test("a line too short is none, and a stone beside it does not belong to it", () => {
    const rows = ["XX.", "O..", "O.."];
    expect(winningLine(rows, 3, null)).toEqual([]);
    expect(winningLine(["XXX", "O..", "O.."], 3, null)).toHaveLength(3);
  });

  test("arrow keys stop at the edges", () => {
    expect(moveFocus({ row: 0, column: 0 }, "ArrowUp", 3, 3)).toEqual({ row: 0, column: 0 });
    expect(moveFocus({ row: 0, column: 0 }, "ArrowRight", 3, 3)).toEqual({ row: 0, column: 1 });
    expect(moveFocus({ row: 2, column: 1 }, "End", 3, 3)).toEqual({ row: 2, column: 2 });
    expect(moveFocus({ row: 0, column: 0 }, "x", 3, 3)).toBeNull();
  });

  test("a board of 15 has five dots, a small one none", () => {
    expect(starPoints(15)).toHaveLength(5);
    expect(starPoints(3)).toEqual([]);
  });
});

describe("columns", () => {
  const rows = ["O..", "X..", "XO."];

  test("a piece falls onto the pieces of its column; a full one takes none", () => {
    expect(landingRow(rows, 0)).toBeNull();
    expect(landingRow(rows, 1)).toBe(1);
    expect(landingRow(rows, 2)).toBe(2);
  });

  test("the last piece is the topmost of its column", () => {
    expect(pieceOfColumn(rows, turn(0))).toEqual({ row: 0, column: 0 });
    expect(pieceOfColumn(rows, turn(1))).toEqual({ row: 2, column: 1 });
  });

  test("a column is read aloud from the bottom up", () => {
    expect(columnLabel(rows, 1, ["You", "zerofleet"], 0)).toBe("Column 2, from the bottom zerofleet");
    expect(columnLabel(rows, 0, ["You", "zerofleet"], 0)).toBe("Column 1, full");
    expect(columnLabel(rows, 2, ["You", "zerofleet"], 0.25)).toBe("Column 3, empty, policy 25 %");
  });
});
