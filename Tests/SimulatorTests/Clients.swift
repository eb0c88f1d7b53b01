import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageStream
import HoldfastWorlds

/// A client for tests that wraps the model of a stream and changes a part of its behavior.
protocol WrappingClient: StreamClient {
  var model: StreamModel { get }
}

extension WrappingClient {
  var status: LinkStatus { model.status }
  var currentAttempt: AttemptID? { model.currentAttempt }
  var isWhole: Bool { model.isWhole }
  var memoryUse: MemoryUse { model.memoryUse }
  var deadline: Instant? { model.deadline }
}

/// A client for tests that never returns an effect.
protocol IdleClient: StreamClient {
  init()
}

extension IdleClient {
  var status: LinkStatus { LinkStatus(phase: .disconnected) }
  var currentAttempt: AttemptID? { nil }
  var isWhole: Bool { false }
  var memoryUse: MemoryUse { MemoryUse(shown: 0, unsent: 0, unstored: 0, ahead: 0) }
  var deadline: Instant? { nil }

  init(settings: StreamSettings, seed: UInt64) { self.init() }
  mutating func handle(_ input: StreamModel.Input, at now: Instant) -> [StreamModel.Effect] { [] }
  mutating func tick(at now: Instant) -> [StreamModel.Effect] { [] }
}
