import Foundation
package import LinkCore

/// The loop of one machine: waits for an input or the deadline, and performs the effects.
///
///     loop:  deadline due? ─▶ tick ─┐
///            input in line? ─▶ handle ─▶ journal ─▶ effects, one after another ─▶ loop
///            neither? ─▶ wait for an input or the deadline, whichever comes first
///
/// The deadline is checked before every input, so a stream of inputs delays no tick; at most one
/// tick precedes each input, so ticks delay no input.
///
/// After each step it checks the machine's invariants; a broken one ends the process before an
/// effect of the step is performed (decision 0032).
package actor Driver<M: Journaled> {
  /// Performs one effect; the next one waits until it returns.
  ///
  /// It must return quickly: it starts long work, which posts an input when it is done. It must not
  /// await `post`, which waits for room that only this driver can make; it may use `tryPost`, or
  /// post from the work that it started.
  package typealias Perform = @Sendable (M.Effect, Instant) async -> Void

  private var machine: M
  /// The machine's deadline after the last step; read once, since generic code copies the machine.
  private var deadline: Instant?
  private let clock: any LinkClock
  private let inbox: Inbox<M.Input>
  private let journal: Journal<M>?
  private let perform: Perform
  private var phase = Phase.new
  private var last: Instant
  /// The number of inputs whose effects were all performed.
  private var handled: UInt64 = 0
  private var settling: [Settling] = []
  private var lastTicket: UInt64 = 0

  private struct Settling {
    var ticket: UInt64
    var target: UInt64
    var isSettled: @Sendable (M) -> Bool
    var continuation: CheckedContinuation<Void, Never>
  }

  private enum Phase { case new, running, ended }

  /// - Parameters:
  ///   - inboxLimit: The number of queued inputs at which `post` waits.
  ///   - journal: Records every step before its effects are performed.
  package init(
    machine: M, clock: any LinkClock, inboxLimit: Int = 256, journal: Journal<M>? = nil,
    perform: @escaping Perform
  ) {
    self.machine = machine
    deadline = machine.deadline
    self.clock = clock
    inbox = Inbox(limit: inboxLimit)
    self.journal = journal
    self.perform = perform
    last = clock.now
  }

  /// How many calls of `settle` wait.
  package var settlingCount: Int { settling.count }

  /// The machine between two steps.
  package var snapshot: M { machine }

  /// The counts of inputs so far.
  package nonisolated var counters: InboxCounters { inbox.counters }

  /// Queues an input when there is room for it; also before `run`.
  ///
  /// - Returns: False if it was not taken: the driver has ended, or the task was cancelled.
  @discardableResult
  package nonisolated func post(_ input: M.Input) async -> Bool {
    await inbox.post(input)
  }

  /// Queues inputs in order, each when there is room for it.
  ///
  /// - Returns: False if not all were taken: the driver has ended, or the task was cancelled.
  @discardableResult
  package nonisolated func post(contentsOf inputs: [M.Input]) async -> Bool {
    await inbox.post(contentsOf: inputs)
  }

  /// Queues an input if there is room now; returns false otherwise.
  package nonisolated func tryPost(_ input: M.Input) -> Bool {
    inbox.tryPost(input)
  }

  /// Returns when all inputs posted before were handled and `isSettled` holds, or the driver has
  /// ended, or the task is cancelled. The driver must run, now or soon.
  package func settle(_ isSettled: @escaping @Sendable (M) -> Bool) async {
    let target = inbox.counters.accepted
    guard phase != .ended, handled < target || !isSettled(machine) else { return }
    lastTicket += 1
    let ticket = lastTicket
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // Cancelled before: the handler below has run already and found nothing to wake.
        guard !Task.isCancelled else { return continuation.resume() }
        settling.append(
          Settling(
            ticket: ticket, target: target, isSettled: isSettled, continuation: continuation))
      }
    } onCancel: {
      Task { await self.wakeSettled { $0.ticket == ticket } }
    }
  }

  /// Drives the machine until the task is cancelled; then it finishes the step under way and takes
  /// no further input. Call it once.
  package func run() async {
    precondition(phase == .new, "a driver runs once")
    phase = .running
    /// A deadline that its own tick left in place; it is not used again.
    var spent: Instant?
    while !Task.isCancelled {
      let now = moment()
      if let due = deadline, due <= now, due != spent {
        await step(.tick, at: now)
        spent = deadline.flatMap { $0 <= now ? $0 : nil }
        wakeSettled()
        guard !Task.isCancelled else { break }
      }
      if let input = inbox.take() {
        await step(.input(input), at: moment())
        spent = nil
        handled += 1
        wakeSettled()
      } else if !isDue(unless: spent) {
        await waitForInput(or: deadline == spent ? nil : deadline)
      }
    }
    phase = .ended
    wakeSettled { _ in true }
    inbox.close()
    await journal?.flush()
  }

  private func wakeSettled() {
    guard !settling.isEmpty else { return }
    wakeSettled { handled >= $0.target && $0.isSettled(machine) }
  }

  private func wakeSettled(_ isReady: (Settling) -> Bool) {
    let ready = settling.filter(isReady)
    settling.removeAll(where: isReady)
    for waiter in ready { waiter.continuation.resume() }
  }

  private func isDue(unless spent: Instant?) -> Bool {
    guard let due = deadline, due != spent else { return false }
    return due <= moment()
  }

  /// Returns the clock's time, or the last one if the clock went back.
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
    deadline = machine.deadline
    journal?.record(JournalStep(at: now, cause: cause, effects: effects))
    let broken = machine.brokenInvariants(.ofDrivers)
    if let name = broken.first {
      // The journal ends with the step that broke it, whose effects are not performed.
      await journal?.flush()
      BrokenInvariant.stop(name, in: M.journalName)
    }
    for effect in effects {
      await perform(effect, now)
    }
  }

  private func waitForInput(or deadline: Instant?) async {
    guard let deadline else { return await inbox.waitForInput() }
    await withTaskGroup(of: Void.self) { [clock, inbox] group in
      group.addTask { try? await clock.wait(until: deadline) }
      group.addTask { await inbox.waitForInput() }
      await group.next()
      group.cancelAll()
    }
  }
}

/// The end of a process whose machine broke one of its invariants.
///
/// What the machine does from then on cannot be foreseen: it could acknowledge what was not stored.
/// What was stored survives the end, as it survives any kill, and the next start begins from there
/// (decision 0032).
package enum BrokenInvariant {
  /// Writes which invariant is broken to standard error, and traps.
  ///
  /// - Parameters:
  ///   - name: The name of the invariant.
  ///   - machine: The name of the machine, as the journal has it.
  package static func stop(_ name: String, in machine: String) -> Never {
    let text = "holdfast: the machine \(machine) broke an invariant: \(name)"
    // Release builds leave the message of a trap out.
    try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    preconditionFailure(text)
  }
}

/// Suspends the task until its continuation is resumed.
///
/// Both closures return what resumes continuations, so that it runs outside of their lock. `enter`
/// asks under that lock whether the task is cancelled: `leave` may have run before and found
/// nothing to remove.
///
/// - Parameters:
///   - enter: Stores the continuation.
///   - leave: Removes it, when the task is cancelled.
package func suspended<Value: Sendable>(
  _ enter: (CheckedContinuation<Value, Never>) -> () -> Void,
  onCancel leave: @Sendable () -> () -> Void
) async -> Value {
  await withTaskCancellationHandler {
    await withCheckedContinuation { continuation in enter(continuation)() }
  } onCancel: {
    leave()()
  }
}
