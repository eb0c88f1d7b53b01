import Foundation
package import HoldfastCore
package import HoldfastPorts

/// The loop of one machine. It handles inputs and the deadline, and performs the effects.
///
///     turn:  deadline due? ─▶ tick ─┐
///            input in line? ─▶ handle ─▶ journal ─▶ effects, one after another ─▶ turn
///            neither? ─▶ the end; an input or the deadline begins another turn
///
/// Each turn is a task that begins on the driver's thread. A task that waits would be resumed on
/// the shared threads first, and only then change to the driver's (decision 0074).
///
/// The deadline is checked before every input, so a continuous flow of inputs does not delay a
/// tick. At most one tick precedes each input, so ticks do not delay inputs.
///
/// After each step, the driver checks the machine's invariants. A broken invariant ends the process
/// before any effect of the step is performed (decision 0032).
package actor Driver<M: Journaled> {
  /// A function that performs one effect. The next effect is performed after it has returned.
  ///
  /// The function must return quickly. For long work it starts a task, which posts an input when it
  /// completes. The function must not await `post`, because `post` may wait for room that only this
  /// driver can make. It may call `tryPost`, or post inputs from the task that it started. The task
  /// that performs an effect is never cancelled.
  package typealias Perform = @Sendable (M.Effect, Instant) async -> Void

  private var machine: M
  /// The machine's deadline after the last step.
  private var deadline: Instant?
  private let clock: any LinkClock
  private let inbox: Inbox<M.Input>
  /// The alarm that starts a turn at the deadline.
  private let alarm: any ClockAlarm
  private let journal: Journal<M>?
  private let perform: Perform
  private let thread: EventThread
  private var phase = Phase.new
  private var last: Instant
  /// The number of inputs whose effects have all been performed.
  private var handled: UInt64 = 0
  private var waiters: [Waiter] = [] {
    didSet { hasWaiters = !waiters.isEmpty }
  }
  /// Whether there are waiters. Generic code reads a flag faster than the count of an array.
  private var hasWaiters = false
  private var lastTicket: UInt64 = 0
  /// The deadline that is still in place after its own tick. It is not handled again.
  private var spent: Instant?
  /// The continuation of `run`.
  private var ending: CheckedContinuation<Void, Never>?

  private struct Waiter {
    var ticket: UInt64
    var target: UInt64
    var condition: @Sendable (M) -> Bool
    var continuation: CheckedContinuation<Void, Never>
  }

  private enum Phase { case new, running, ended }

  /// The maximum number of inputs in a turn. Other jobs of the thread follow before the next one.
  /// Without it, inputs that arrive as fast as they are handled would keep the sockets from being
  /// read and written.
  private static var mostInTurn: Int { 32 }

  /// Creates a driver.
  ///
  /// - Parameters:
  ///   - inboxLimit: The number of queued inputs at which `post` waits.
  ///   - journal: The journal that records every step before the effects are performed.
  ///   - thread: The thread of the driver. Effects are performed fastest by an actor of the same
  ///     thread.
  package init(
    machine: M, clock: any LinkClock, inboxLimit: Int = 256, journal: Journal<M>? = nil,
    on thread: EventThread = .queue("holdfast.driver"), perform: @escaping Perform
  ) {
    self.machine = machine
    deadline = machine.deadline
    self.clock = clock
    let inbox = Inbox<M.Input>(limit: inboxLimit)
    self.inbox = inbox
    alarm = clock.makeAlarm { inbox.nudge() }
    self.journal = journal
    (self.perform, self.thread) = (perform, thread)
    last = clock.now
  }

  package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.unownedExecutor }

  /// The number of `waitUntil` calls that are waiting.
  package var waiterCount: Int { waiters.count }

  /// A copy of the machine between two steps.
  package var snapshot: M { machine }

  /// The counts of the inbox so far.
  package nonisolated var counters: InboxCounters { inbox.counters }

  /// Returns a function that writes notes about the connection of an attempt into the journal;
  /// `nil` if there is no journal.
  package nonisolated func notes(
    of attempt: AttemptID
  ) -> (@Sendable (ConnectionNote) -> Void)? {
    guard let journal, journal.isOn else { return nil }
    return { [clock] note in
      journal.record(JournalNote(at: clock.now, attempt: attempt, note))
    }
  }

  /// Queues an input as soon as there is room. It may be called before `run`.
  ///
  /// - Returns: False if the input was not queued because the driver has ended or the task was
  ///   cancelled.
  @discardableResult
  package nonisolated func post(_ input: M.Input) async -> Bool {
    await inbox.post(input)
  }

  /// Queues inputs in order, each as soon as there is room.
  ///
  /// - Returns: False if not all were queued because the driver has ended or the task was
  ///   cancelled.
  @discardableResult
  package nonisolated func post(contentsOf inputs: [M.Input]) async -> Bool {
    await inbox.post(contentsOf: inputs)
  }

  /// Queues an input if there is room now. Returns false if the input was not queued.
  package nonisolated func tryPost(_ input: M.Input) -> Bool {
    inbox.tryPost(input)
  }

  /// Waits until all inputs posted before the call have been handled and `condition` holds.
  ///
  /// The call also returns when the driver has ended or the task is cancelled. The driver must be
  /// running or start soon.
  ///
  /// - Returns: False if the driver has ended or the task is cancelled.
  @discardableResult
  package func waitUntil(_ condition: @escaping @Sendable (M) -> Bool) async -> Bool {
    let target = inbox.counters.accepted
    guard phase != .ended else { return false }
    if handled >= target, condition(machine) { return true }
    lastTicket += 1
    let ticket = lastTicket
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // If the task was already cancelled, the handler below has run without finding a waiter.
        // The inputs may have been handled while the task changed its executor, which a task
        // with a preference for another one does here.
        guard !Task.isCancelled, phase != .ended, handled < target || !condition(machine) else {
          return continuation.resume()
        }
        waiters.append(
          Waiter(
            ticket: ticket, target: target, condition: condition, continuation: continuation))
      }
    } onCancel: {
      Task { await self.resumeWaiters { $0.ticket == ticket } }
    }
    return phase != .ended && !Task.isCancelled
  }

  /// Drives the machine until the task is cancelled. It must be called only once.
  ///
  /// On cancellation, the driver completes the current step and accepts no further input.
  package func run() async {
    precondition(phase == .new, "a driver runs once")
    phase = .running
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        ending = continuation
        inbox.open(Inbox<M.Input>.turn { await self.takeTurn() })
      }
    } onCancel: {
      inbox.stop()
    }
    await journal?.flush()
  }

  /// Handles inputs and the deadline until neither is left, or until other jobs of the thread have
  /// their turn.
  private func takeTurn() async {
    alarm.clear()
    var handledInTurn = 0
    while !inbox.isStopping {
      let now = moment()
      if let due = deadline, due <= now, due != spent {
        await step(.tick, at: now)
        spent = deadline.flatMap { $0 <= now ? $0 : nil }
        resumeWaiters()
        if inbox.isStopping { break }
      }
      if let input = inbox.take() {
        await step(.input(input), at: moment())
        spent = nil
        handled += 1
        resumeWaiters()
        handledInTurn += 1
        if handledInTurn == Self.mostInTurn { return inbox.continueLater() }
      } else if !isDue, rests() {
        return
      }
    }
    end()
  }

  /// Sets the alarm and ends the turn, unless there is news. The next input or the alarm starts
  /// another turn.
  private func rests() -> Bool {
    if let deadline, deadline != spent { alarm.set(at: deadline) }
    guard !inbox.rest() else { return true }
    alarm.clear()
    return false
  }

  private func end() {
    phase = .ended
    resumeWaiters { _ in true }
    inbox.close()
    ending.take()?.resume()
  }

  private func resumeWaiters() {
    guard hasWaiters else { return }
    resumeWaiters { handled >= $0.target && $0.condition(machine) }
  }

  private func resumeWaiters(_ isReady: (Waiter) -> Bool) {
    for waiter in waiters.takeAll(where: isReady) { waiter.continuation.resume() }
  }

  /// Whether the deadline has passed without its tick.
  private var isDue: Bool {
    guard let due = deadline, due != spent else { return false }
    return due <= moment()
  }

  /// Returns the clock's time, or the latest earlier time if the clock has gone back.
  private func moment() -> Instant {
    last = max(last, clock.now)
    return last
  }

  private func step(_ cause: JournalStep<M>.Cause, at now: Instant) async {
    let effects =
      switch cause {
      case .input(let input): machine.handle(input, at: now)
      case .tick: machine.tick(at: now)
      }
    deadline = machine.nextDeadline()
    journal?.record(JournalStep(at: now, cause: cause, effects: effects))
    let broken = machine.brokenInvariants(.ofDrivers)
    if let name = broken.first {
      // The journal ends with the step that broke the invariant. Its effects are not performed.
      await journal?.flush()
      BrokenInvariant.stop(name, in: M.journalName)
    }
    for effect in effects {
      await perform(effect, now)
    }
  }
}

/// The end of a process because its machine broke an invariant.
///
/// The machine's further behavior would be unpredictable: it could acknowledge data that was not
/// stored. Stored data survives, as it does when the process is killed, and the next start
/// continues with it (decision 0032).
package enum BrokenInvariant {
  /// Writes the name of the broken invariant to standard error, and traps.
  ///
  /// - Parameters:
  ///   - name: The name of the invariant.
  ///   - machine: The name of the machine in the journal.
  package static func stop(_ name: String, in machine: String) -> Never {
    let text = "holdfast: the machine \(machine) broke an invariant: \(name)"
    // Release builds omit the message of a trap.
    try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    preconditionFailure(text)
  }
}

/// Suspends the task until its continuation is resumed.
///
/// Both closures return a function that resumes continuations and is called after their lock is
/// released. `enter` checks under that lock whether the task is cancelled, because `leave` may
/// already have run without finding a continuation to remove.
///
/// - Parameters:
///   - isolation: The actor of the caller. Without the parameter, the closure that waits would run
///     on the shared threads, so each wait would change the thread twice.
///   - enter: Stores the continuation.
///   - leave: Removes the continuation when the task is cancelled.
package func suspended<Value: Sendable>(
  isolation: isolated (any Actor)? = #isolation,
  _ enter: (CheckedContinuation<Value, Never>) -> () -> Void,
  onCancel leave: @Sendable () -> () -> Void
) async -> Value {
  await withTaskCancellationHandler {
    await withCheckedContinuation(isolation: isolation) { continuation in enter(continuation)() }
  } onCancel: {
    leave()()
  }
}
