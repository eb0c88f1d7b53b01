import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(60)))
struct FakeDeviceTests {
  @Test func `satisfies the contract of a reachability monitor`() async throws {
    let device = FakeReachability()
    let answers = Mutex([Reachability.unreachable, .reachable(path: PathID("other"))])
    try await reachabilityMonitorContract(device) {
      device.change(to: answers.withLock { $0.removeFirst() })
    }
  }

  @Test func `the contract detects a monitor that repeats an answer`() async throws {
    let (stream, sink) = AsyncStream.makeStream(of: Reachability.self)
    for _ in 0..<2 { sink.yield(.unreachable) }
    sink.finish()
    await #expect(throws: ContractViolation.self) {
      try await reachabilityMonitorContract(Fixed(stream: stream)) {}
    }
  }

  @Test func `satisfies the contract of a lifecycle monitor`() async throws {
    let device = FakeLifecycle()
    try await lifecycleMonitorContract(
      device, events: [.background, .foreground, .willSleep, .didWake, .terminate]
    ) { device.send($0) }
  }

  @Test func `the contract detects a monitor that reports a wrong event`() async throws {
    let device = FakeLifecycle()
    await #expect(throws: ContractViolation.self) {
      try await lifecycleMonitorContract(device, events: [.background]) { _ in
        device.send(.foreground)
      }
    }
  }
}

private struct Fixed: ReachabilityMonitor {
  var stream: AsyncStream<Reachability>

  func changes() -> AsyncStream<Reachability> { stream }
}
