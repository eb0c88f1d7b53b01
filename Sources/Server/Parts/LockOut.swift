package import HoldfastCore

/// The limits of wrong pairing codes or secrets. An address or IPv6 network that exceeds one is
/// locked out.
///
/// Each address has a limit, and each IPv6 network has one. During a flood of wrong codes, the
/// limit of every address is stricter. A phone may be watched like an address, beside its address.
///
/// Wrong codes of one address never count against another address. An address that has sent no
/// wrong code may always try one, so a flood locks out no other address. The entropy of the codes
/// is sufficient for the remaining rate of guesses (decision 0030).
package struct LockOut: Sendable {
  /// The numbers of a lock-out. The defaults are those of pairing codes.
  package struct Limits: Sendable, Hashable {
    /// The number of wrong codes within `window` that lock an address out.
    var wrongs: Int
    /// The same number during a flood.
    var floodWrongs: Int
    /// The number of wrong codes of one /48 IPv6 network within `window` that lock it out.
    var wrongsOfNetwork: Int
    /// The time for which a wrong code counts.
    var window: Duration
    /// The time for which an address stays locked out.
    var time: Duration
    /// The minimum average time between wrong codes of all addresses. A higher rate is a flood.
    var interval: Duration
    /// The number of wrong codes of all addresses that may follow a pause before they are a flood.
    var burst: Int
    /// The maximum number of watched addresses and networks.
    var maxWatched: Int

    /// Creates limits. The defaults are those of the relay.
    package init(
      wrongs: Int = 5, floodWrongs: Int = 2, wrongsOfNetwork: Int = 50,
      window: Duration = .seconds(600), time: Duration = .seconds(900),
      interval: Duration = .milliseconds(100), burst: Int = 600, maxWatched: Int = 100_000
    ) {
      self.wrongs = wrongs
      self.floodWrongs = floodWrongs
      self.wrongsOfNetwork = wrongsOfNetwork
      self.window = window
      self.time = time
      self.interval = interval
      self.burst = burst
      self.maxWatched = maxWatched
    }
  }

  /// The failed attempts of an address or a network.
  package enum Mark {
    /// The instants at which wrong codes were sent, oldest first.
    case wrong([Instant])
    case locked(until: Instant)
  }

  /// The numbers of hexadecimal digits of a /48 IPv6 network and of a /64 prefix. A /64 prefix is
  /// treated as one address.
  private static let (networkDigits, addressDigits) = (12, 16)

  private let limits: Limits
  private(set) var marks: [String: Mark] = [:]
  /// The time at which the combined allowance of all addresses is full again.
  private var fullAt: Instant
  /// The time at which an address without a mark may try again. It is in the past if there is room
  /// for a mark.
  private var crowdedUntil: Instant

  package init(_ limits: Limits = Limits(), at now: Instant) {
    self.limits = limits
    fullAt = now
    crowdedUntil = now
  }

  /// Returns how long an address has to wait, or `nil` if it may try a code now.
  ///
  /// - Parameter other: The name of what else is watched, which is no address.
  package func wait(_ address: String, and other: String? = nil, at now: Instant) -> Duration? {
    if let other, let wait = lock(on: other, at: now) { return wait }
    if let network = Self.network(of: address), let wait = lock(on: network, at: now) {
      return wait
    }
    if let wait = lock(on: address, at: now) { return wait }
    guard marks[address] == nil, crowdedUntil > now else { return nil }
    return now.duration(to: crowdedUntil)
  }

  private func lock(on name: String, at now: Instant) -> Duration? {
    switch marks[name] {
    case .locked(let until): until > now ? now.duration(to: until) : nil
    case .wrong, nil: nil
    }
  }

  /// Counts a wrong code of an address, and of what else is watched.
  package mutating func wrong(_ address: String, and other: String? = nil, at now: Instant) {
    fullAt = max(fullAt, now).advanced(by: limits.interval)
    let isFlood = now.duration(to: fullAt) > limits.interval * limits.burst
    let bound = isFlood ? min(limits.floodWrongs, limits.wrongs) : limits.wrongs
    if let other, marks[other] != nil || hasRoom(at: now) { mark(other, at: now, bound: bound) }
    guard marks[address] != nil || hasRoom(at: now) else {
      crowdedUntil = now.advanced(by: limits.interval)
      return
    }
    mark(address, at: now, bound: bound)
    guard let network = Self.network(of: address),
      marks[network] != nil || hasRoom(at: now)
    else { return }
    mark(network, at: now, bound: limits.wrongsOfNetwork)
  }

  private mutating func mark(_ name: String, at now: Instant, bound: Int) {
    var instants: [Instant] = []
    if case .wrong(let earlier) = marks[name] {
      instants = earlier.filter { $0.duration(to: now) < limits.window }
    }
    instants.append(now)
    marks[name] =
      instants.count < bound
      ? .wrong(instants) : .locked(until: now.advanced(by: limits.time))
  }

  /// Returns the /48 IPv6 network of a /64 address, or `nil` for any other address.
  private static func network(of address: String) -> String? {
    guard address.utf8.count == addressDigits, address.utf8.allSatisfy(\.isHexDigit) else {
      return nil
    }
    // The suffix makes the name differ from every address.
    return "\(address.prefix(networkDigits))/48"
  }

  private mutating func hasRoom(at now: Instant) -> Bool {
    guard marks.count >= limits.maxWatched else { return true }
    guard crowdedUntil <= now else { return false }  // The table was searched a moment ago.
    marks = marks.filter { _, mark in
      switch mark {
      case .wrong(let instants):
        instants.contains { $0.duration(to: now) < limits.window }
      case .locked(let until): until > now
      }
    }
    return marks.count < limits.maxWatched
  }
}

extension LockOut: SelfChecking {
  package func check(_ check: inout InvariantCheck) {
    check.require(
      marks.count <= limits.maxWatched,
      "lock out: the addresses that it watches are bounded")
  }
}

extension UInt8 {
  /// A Boolean value that indicates whether the byte is a lower-case hexadecimal digit in ASCII.
  fileprivate var isHexDigit: Bool {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
    case _: false
    }
  }
}
