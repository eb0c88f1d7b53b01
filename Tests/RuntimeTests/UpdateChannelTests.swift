import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Testing

@testable import HoldfastSocket

/// Tests of the channel of updates, and of restarts after a failure.
@Suite(.timeLimit(.minutes(60))) struct UpdateChannelTests {
  @Test func `a status from before a restart does not end a new loop`() async {
    let handler = BellHandler()
    let runtime = MachineRuntime(MachineStart<Bell>(Bell.Birth()), handler, clock: TestClock())
    runtime.command(.say(BellHandler.fail))
    #expect(await handler.begun.next() == BellHandler.fail)
    runtime.restart(.say(BellHandler.work))
    handler.gate.put(0)
    #expect(await handler.begun.next() == BellHandler.work)
    // The failure is recorded now, and the machine has not processed the restart.
    #expect(handler.updates.failure == nil)
    handler.gate.put(0)
    let loop = UpdateIterator(updates: handler.updates)
    #expect(await next(of: loop) == BellHandler.fail)
    #expect(await next(of: loop) == BellHandler.work)
    await runtime.end()
  }

  @Test func `a restart that changes nothing ends a new loop`() async {
    let handler = BellHandler()
    let runtime = MachineRuntime(MachineStart<Bell>(Bell.Birth()), handler, clock: TestClock())
    handler.updates.put(BellHandler.fail, failure: .refused)
    runtime.restart(.say(BellHandler.nothing))
    let loop = UpdateIterator(updates: handler.updates)
    #expect(await next(of: loop) == BellHandler.fail)
    #expect(await next(of: loop) == nil)
    #expect(handler.updates.failure == .refused)
    await runtime.end()
  }

  @Test func `closing does not remove the failure`() async {
    let handler = BellHandler()
    let runtime = MachineRuntime(MachineStart<Bell>(Bell.Birth()), handler, clock: TestClock())
    handler.updates.put(BellHandler.fail, failure: .refused)
    handler.gate.put(0)
    // The end of a link is a status without a failure.
    await runtime.close(.say(BellHandler.work)) { _ in true }
    #expect(handler.updates.failure == .refused)
  }

  @Test func `a newer loop ends the older one, also while it does not wait`() async {
    let channel = UpdateChannel<Int>(overflow: { $0.append($1) })
    let read = Mailbox<Int>()
    let gate = Mailbox<Void>()
    let oldest = Task {
      for await update in LastingUpdates(channel) {
        read.put(update)
        _ = await gate.next()
      }
    }
    channel.put(1)
    #expect(await read.next() == 1)
    let older = Task { for await update in LastingUpdates(channel) { read.put(update) } }
    channel.put(2)
    #expect(await read.next() == 2)
    // The oldest loop asks for its next update only now.
    gate.put(())
    await oldest.value
    let newest = Task { for await update in LastingUpdates(channel) { read.put(update) } }
    // The older loop waits.
    await older.value
    channel.put(3)
    #expect(await read.next() == 3)
    channel.end()
    await newest.value
  }

  @Test func `updates without load do not fill the channel, and are limited`() async {
    let limit = UpdateChannel<Int>.limit
    let channel = UpdateChannel<Int>(
      overflow: { waiting, next in waiting = waiting.filter { $0 > 0 } + [next] },
      bytes: { $0 > 0 ? 0 : nil })
    for _ in 0..<limit { channel.put(0) }
    for _ in 1..<limit { channel.put(1) }
    #expect(!channel.isFull)
    channel.put(0)
    channel.put(1)
    #expect(channel.isFull)
    channel.end()
    var waiting: [Int] = []
    while let update = await channel.next() { waiting.append(update) }
    #expect(waiting == Array(repeating: 1, count: limit - 1) + [0, 1])
  }

  private func next(of loop: UpdateIterator<Int>) async -> Int? {
    var loop = loop
    return await loop.next()
  }
}

/// A handler whose updates are the numbers that a bell says.
private actor BellHandler: EffectHandler {
  let thread = EventThread.queue("holdfast.test")
  /// The number for which the link fails for good, after the gate has opened.
  static let fail = 0
  /// The number for which the link works, after the gate has opened.
  static let work = 1
  /// A number without an update.
  static let nothing = 2

  let sink = InputSink<Bell>()
  let updates = UpdateChannel<Int>(overflow: { $0.append($1) })
  /// The numbers whose effect waits for the gate.
  let begun = Mailbox<Int>()
  let gate = Mailbox<Int>()

  func perform(_ effect: Bell.Effect) async {
    guard case .said(let number) = effect, number != Self.nothing else { return }
    begun.put(number)
    _ = await gate.next()
    updates.put(number, failure: number == Self.fail ? .refused : nil)
  }

  func stop() async {}
}
