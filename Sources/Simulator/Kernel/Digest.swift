public import HoldfastCore
public import HoldfastLinkChecks

/// A hash of all events of a run, in order. Equal runs have equal hashes on every machine.
///
/// Each word is mixed by the two multiplications of MurmurHash3's 64-bit finalizer (Appleby 2011).
/// Each of its bits therefore affects about half of the bits of the result.
public struct Digest: Sendable {
  private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// Mixes in a 64-bit word.
  public mutating func mix(_ word: UInt64) {
    var mixed = value ^ word
    mixed = (mixed ^ (mixed >> 33)) &* 0xFF51_AFD7_ED55_8CCD
    mixed = (mixed ^ (mixed >> 33)) &* 0xC4CE_B9FE_1A85_EC53
    value = (mixed ^ (mixed >> 33)) &+ 0x9E37_79B9_7F4A_7C15
  }

  /// Mixes in the kind of a fact and its numbers.
  public mutating func mix(_ kind: UInt64, _ first: UInt64, _ second: UInt64 = 0) {
    mix(kind)
    mix(first)
    if second != 0 { mix(second) }
  }

  /// Mixes in a time.
  public mutating func mix(_ time: Duration) { mix(UInt64(bitPattern: time.nanoseconds)) }
  /// Mixes in a wall-clock time.
  public mutating func mix(_ time: Timestamp) { mix(UInt64(bitPattern: time.nanoseconds)) }
  /// Mixes in a flag.
  public mutating func mix(_ flag: Bool) { mix(flag ? 1 : 2) }

  /// Mixes in an ID.
  public mutating func mix(_ id: UUID128) {
    mix(id.high)
    mix(id.low)
  }

  /// Mixes in the bytes of a text.
  public mutating func mix(_ text: String) {
    mix(UInt64(text.utf8.count))
    for byte in text.utf8 { mix(UInt64(byte)) }
  }

  public mutating func note<Feature: SimulatedFeature>(
    _ seen: Observation<Feature>, of host: HostID?, at now: Instant
  ) {
    mix(UInt64(bitPattern: now.nanoseconds))
    mix(UInt64(host?.slot ?? 99))
    switch seen {
    case .launched(_, let run): mix(1, UInt64(run))
    case .killed: mix(2)
    case .suspended: mix(3)
    case .resumed: mix(4)
    case .received, .ticked: return  // These are recorded as steps.
    case .upgraded(_, let attempt, let status): mix(7, attempt.number, UInt64(status))
    case .serverLost(_, let attempt): mix(8, attempt.number)
    case .wentDead(_, let attempt): mix(9, attempt.number)
    case .server: return  // Only watchers receive it.
    case .began(let event):
      mix(10)
      mix(event.text)
    case .ended(let event):
      mix(11)
      mix(event.text)
    case .calm: mix(12)
    case .fact(let fact):
      mix(13)
      Feature.mix(fact, into: &self)
    }
  }

  /// Mixes in a step of a model: its input, which is `nil` for a tick, and its effects.
  public mutating func note<Feature: SimulatedFeature>(
    _ phone: HostID, _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect],
    of feature: Feature.Type, at now: Instant
  ) {
    mix(UInt64(bitPattern: now.nanoseconds))
    mix(UInt64(phone.slot), isLate ? 1 : 2, UInt64(effects.count))
    if let input {
      mix(Feature.Model.role(of: input))
      Feature.mix(input, into: &self)
    }
    for effect in effects {
      mix(Feature.Model.role(of: effect))
      Feature.mix(effect, into: &self)
    }
  }

  private mutating func mix(_ role: InputRole) {
    switch role {
    case .wanted: mix(20)
    case .left: mix(21)
    case .changed: mix(22)
    case .lifecycle(.foreground): mix(23)
    case .lifecycle(.background): mix(24)
    case .trigger: mix(25)
    case .credentials(let event): mix(26, event.code)
    case .opened(let attempt): mix(27, attempt.number)
    case .data(let attempt): mix(28, attempt.number)
    case .draining(let attempt, _): mix(29, attempt.number)
    case .received(let attempt): mix(30, attempt.number)
    case .lost(let attempt, let failure):
      mix(31, attempt.number)
      mix(failure)
    case .answered(let isTrigger): mix(32, isTrigger ? 1 : 2)
    case .refused(let failure):
      mix(33)
      mix(failure)
    case .other: mix(34)
    }
  }

  private mutating func mix(_ role: EffectRole) {
    switch role {
    case .open(let attempt): mix(40, attempt.number)
    case .close(let attempt, _): mix(41, attempt.number)
    case .ping(let attempt): mix(42, attempt.number)
    case .refreshCredentials: mix(43)
    case .request, .store: mix(44)
    case .notice: mix(45)
    case .signIn: mix(46)
    case .other: mix(47)
    }
  }
}

extension Digest {
  /// Mixes in the kind of a failure, and its status or close code if it has one.
  fileprivate mutating func mix(_ failure: LinkFailure) {
    switch failure {
    case .unreachable: mix(1)
    case .dns: mix(2)
    case .refused: mix(3)
    case .timeout: mix(4)
    case .tls: mix(5)
    case .reset: mix(6)
    case .ended: mix(7)
    case .closed(let code, _): mix(8, UInt64(code))
    case .http(let status, _, _): mix(9, UInt64(bitPattern: Int64(status)))
    case .protocolError: mix(10)
    case .proxy: mix(11)
    case .captivePortal: mix(12)
    case .local: mix(13)
    }
  }
}

extension HeldLink.CredentialsEvent {
  /// A number that identifies the kind of the event.
  fileprivate var code: UInt64 {
    switch self {
    case .available: 1
    case .refreshFailed: 2
    case .rejected: 3
    case .cleared: 4
    }
  }
}
