import HoldfastCore
import HoldfastPorts
import HoldfastSocket
import HoldfastTestKit
import Testing

/// Tests of how long a runtime keeps the time that the system grants for a lifecycle event.
@Suite(.timeLimit(.minutes(60))) struct LifecycleGrantTests {
  private let lifecycle = FakeLifecycle()
  private let handler = LifeHandler()
  private let released = Mailbox<String>(of: "the release of a grant")

  private func start(_ handler: LifeHandler) -> MachineRuntime<LifeHandler> {
    let device = Device<Bell.Input>(
      reachability: FakeReachability(), lifecycle: lifecycle, network: nil
    ) { .say($0 == .lifecycle(.background) ? LifeHandler.background : LifeHandler.other) }
    return MachineRuntime(MachineStart(Bell.Birth()), handler, clock: TestClock(), device: device)
  }

  private func send(_ event: LifecycleEvent, _ name: String) {
    lifecycle.send(event, grant: TimeGrant { [released] in released.put(name) })
  }

  private static func yield() async { for _ in 0..<200 { await Task.yield() } }

  @Test func `a grant is given back only after the effects of the event have been carried out`()
    async
  {
    let runtime = start(handler)
    send(.background, "background")
    _ = await handler.begun.next()
    await Self.yield()
    #expect(released.takeAll() == [])
    handler.gate.put(true)
    #expect(await released.next() == "background")
    await runtime.end()
  }

  @Test func `each notice of one runtime keeps its grant until its own event is handled`()
    async
  {
    let runtime = start(handler)
    for name in ["first", "second"] { send(.background, name) }
    for name in ["first", "second"] {
      _ = await handler.begun.next()
      #expect(released.takeAll() == [])
      handler.gate.put(true)
      #expect(await released.next() == name)
    }
    await runtime.end()
  }

  @Test func `an event without effects gives its grant back`() async {
    let runtime = start(handler)
    for event in [LifecycleEvent.terminate, .lowPower(true), .foreground] {
      send(event, "\(event)")
      #expect(await released.next() == "\(event)")
    }
    await runtime.end()
  }

  @Test func `grants are given back if the driver ends, also those of unread notices`()
    async
  {
    let runtime = start(handler)
    for name in ["handled", "unread"] { send(.background, name) }
    _ = await handler.begun.next()
    #expect(released.takeAll() == [])
    async let end: Void = runtime.end()
    var names: Set<String> = []
    for _ in 0..<2 { names.insert(await released.next() ?? "") }
    #expect(names == ["handled", "unread"])
    handler.gate.put(true)
    await end
  }

  @Test func `runtimes share a grant, which is given back after the last of them`() async {
    let other = LifeHandler()
    // A monitor keeps early notices for its first stream, so both streams must have begun.
    let runtimes = [start(handler), start(other)]
    await lifecycle.awaitListeners(2)
    send(.background, "shared")
    for each in [handler, other] { _ = await each.begun.next() }
    handler.gate.put(true)
    await Self.yield()
    #expect(released.takeAll() == [])
    other.gate.put(true)
    #expect(await released.next() == "shared")
    for runtime in runtimes { await runtime.end() }
  }
}

extension FakeLifecycle {
  fileprivate func awaitListeners(_ count: Int) async {
    while listenerCount < count { await Task.yield() }
  }
}

/// A handler whose effect for the background waits for the gate.
private actor LifeHandler: EffectHandler {
  let thread = EventThread.queue("holdfast.test")
  static let background = 1
  static let other = 2

  let sink = InputSink<Bell>()
  let updates = UpdateChannel<Int>(overflow: { $0.append($1) })
  nonisolated let begun = Mailbox<Bool>(of: "the effect of the background")
  nonisolated let gate = Mailbox<Bool>(of: "the gate")

  func perform(_ effect: Bell.Effect) async {
    guard effect == .said(Self.background) else { return }
    begun.put(true)
    _ = await gate.next()
  }

  func stop() async {}
}
