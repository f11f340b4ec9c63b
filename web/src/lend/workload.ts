// What a tab was given and has not played to its end: assignments and matches, split among its workers. Matches come
// first, since others wait for them.
import type { Whole } from "./messages";
import type { OpenMatch } from "./open_match";
import type { Task } from "./player_handle";
import { isLate, type OpenAssignment } from "./store";

export class Workload {
  private readonly assignments = new Map<string, OpenAssignment>();
  private readonly matches = new Map<string, OpenMatch>();
  private tasks: Task[] = [];

  /** `dropped` is told of each assignment that is played, or too late. */
  constructor(
    private readonly numWorkers: number,
    private readonly dropped: (key: string) => void,
  ) {}

  assignment(key: string): OpenAssignment | null {
    return this.assignments.get(key) ?? null;
  }

  match(key: string): OpenMatch | null {
    return this.matches.get(key) ?? null;
  }

  /** What is left to play of an assignment. */
  add(assignment: OpenAssignment): void {
    this.assignments.set(assignment.key, assignment);
    const count = Number(assignment.given.count);
    const played = new Set(assignment.played);
    const most = Math.max(1, Math.ceil((count - played.size) / this.numWorkers));
    for (let first = 0; first < count;) {
      if (played.has(first)) {
        ++first;
        continue;
      }
      let next = first;
      while (next < count && !played.has(next) && next - first < most) ++next;
      this.tasks.push({ key: assignment.key, first, count: next - first, isMatch: false });
      first = next;
    }
  }

  addMatch(match: OpenMatch): void {
    this.matches.set(match.key, match);
    this.tasks.unshift(...match.tasks(this.numWorkers));
  }

  /** The next task that is not too late; it is the caller's until it is put back. */
  next(): Task | null {
    for (let task = this.tasks.shift(); task !== undefined; task = this.tasks.shift()) {
      if (task.isMatch) {
        if (this.match(task.key)?.isLate() === false) return task;
        this.dropMatch(task.key);
        continue;
      }
      const assignment = this.assignment(task.key);
      if (assignment !== null && !isLate(assignment)) return task;
      this.drop(task.key);
    }
    return null;
  }

  putBack(task: Task): void {
    this.tasks.push(task);
  }

  drop(key: string): void {
    this.assignments.delete(key);
    this.tasks = this.tasks.filter((task) => task.key !== key);
    this.dropped(key);
  }

  dropMatch(key: string): void {
    this.matches.delete(key);
  }

  dropMatches(): void {
    this.matches.clear();
    this.tasks = this.tasks.filter((task) => !task.isMatch);
  }

  /** Of the weights that it needs. */
  versions(): Whole[] {
    const ofGames = [...this.assignments.values()].map(({ given }) => given.version);
    return [...ofGames, ...[...this.matches.values()].flatMap((match) => match.versions())];
  }
}
