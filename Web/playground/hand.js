// One link that is played by hand: its acts, its clock, and the engine's answer.

/** The acts by group. Of a choice, the last act holds; the first is what holds at the start. */
export const groups = [
  {
    title: 'App', choices: [
      [['leave', 'wants no link'], ['want', 'wants the link']],
      [['foreground', 'in front'], ['background', 'in the background']],
    ],
    acts: [['pull', 'Pull to refresh'], ['woke', 'Wake from sleep']],
  },
  {
    title: 'Network', choices: [[['Wi-Fi', 'Wi-Fi'], ['mobile', 'mobile'], ['offline', 'none']]],
    acts: [['cut', 'Cut the connection']],
  },
  {
    title: 'Server', choices: [[['works', 'works'], ['silent', 'silent'], ['away', 'away']]],
    acts: [['message', 'Send a message'], ['restart', 'Close for a restart']],
  },
];

const opening = () => [{ at: 0, name: 'want' }];

/** A link, its owner's acts and a clock. */
export class Hand {
  /**
   * @param {Engine} engine The engine that plays the link.
   * @param {() => void} changed A function that is called after each answer.
   */
  constructor(engine, changed) {
    Object.assign(this, { engine, changed, settings: null, answer: null, problems: null });
    Object.assign(this, { speed: 1, isRunning: true, isAsking: false, isStale: false });
    this.restart();
  }

  /** Forgets all acts but the first, and begins again. */
  restart() {
    this.acts = opening();
    this.time = 0;
    if (this.settings) this.ask();
  }

  /** Plays the same acts with other settings. */
  use(settings) {
    this.settings = settings;
    this.ask();
  }

  /** Acts now. */
  act(name) {
    this.acts.push({ at: Math.round(this.time * 1000), name });
    this.ask();
  }

  /** Returns the act of a choice that holds. */
  held(choice) {
    const names = choice.map(([name]) => name);
    return this.acts.findLast(({ name }) => names.includes(name))?.name ?? names[0];
  }

  /** Lets some seconds pass. */
  pass(seconds) {
    this.time += seconds;
    this.ask();
  }

  /** Goes to the next deadline. */
  skip() {
    const next = this.answer?.next ?? null;
    if (next !== null) this.pass(Math.max(0.001, next - this.time + 0.001));
  }

  async ask() {
    this.isStale = true;
    if (this.isAsking) return;
    this.isAsking = true;
    try {
      while (this.isStale) {
        this.isStale = false;
        const { problems, ...answer } = await this.engine.ask(this.request());
        this.problems = problems ?? null;
        if (!problems) this.answer = answer;
        this.changed();
      }
    } catch (error) {
      // The clock would ask again at once, and most likely in vain. A person's next act asks.
      this.isRunning = false;
      this.problems = [`The engine has stopped: ${error.message}`];
      this.changed();
    } finally {
      this.isAsking = false;
    }
  }

  request() {
    const { policy, changes } = this.settings;
    return [
      'link', `policy=${policy}`,
      ...Object.entries(changes).map(([key, text]) => `set=${key}=${text}`),
      ...this.acts.map(({ at, name }) => `act=${at} ${name}`),
      `until=${Math.round(this.time * 1000)}`,
    ];
  }
}
