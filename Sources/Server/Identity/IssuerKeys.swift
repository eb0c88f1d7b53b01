public import HoldfastCore
public import HoldfastServerParts

/// The public keys of an identity provider, and the times at which they are fetched.
///
/// Keys are fetched at the start, again when their time has passed, and once more if a token names
/// an unknown key. If a fetch fails, the former keys remain.
public struct IssuerKeys: Sendable {
  /// The shortest and the longest time for which fetched keys are kept.
  ///
  /// Without a `max-age`, it is the shortest one. A key that a provider withdraws is thus refused
  /// after five minutes, unless the provider states a longer time.
  public static let life = Duration.seconds(300)...Duration.seconds(86_400)
  /// The time between two fetches because of unknown keys, so that false tokens cause no load.
  public static let unknownInterval = Duration.seconds(60)
  /// The time after which a failed fetch is repeated.
  public static let retry = Duration.seconds(60)
  /// The time after which a failed fetch is repeated while no key is known.
  public static let firstRetry = Duration.seconds(10)
  /// The time limit of a fetch.
  public static let fetchLimit = Duration.seconds(10)

  private enum Fetching: Sendable, Equatable {
    /// The next fetch begins at this time; `nil` for keys that are not fetched.
    case idle(due: Instant?)
    case underWay
  }

  /// The keys; empty if none were ever known.
  public private(set) var keys: [IssuerKey]
  private var fetching: Fetching
  /// The time of the last fetch because of an unknown key.
  private var lastUnknown: Instant?
  private var counts = Counts()

  struct Counts: Sendable {
    var fetched: UInt64 = 0
    var failed: UInt64 = 0
  }

  /// Creates keys that are fetched, the first time at `now`.
  public init(fetchedFrom now: Instant) { (keys, fetching) = ([], .idle(due: now)) }

  /// Creates keys of a file, which are never fetched.
  public init(_ keys: [IssuerKey]) { (self.keys, fetching) = (keys, .idle(due: nil)) }

  /// Returns whether a fetch is under way, or begins now.
  public func areAwaited(at now: Instant) -> Bool {
    switch fetching {
    case .underWay: true
    case .idle(let due): due.map { $0 <= now } ?? false
    }
  }

  /// The time of the next fetch; `nil` while one is under way, and for keys of a file.
  public var deadline: Instant? {
    switch fetching {
    case .idle(let due): due
    case .underWay: nil
    }
  }

  /// Begins a fetch if one is due. Returns false if none is.
  public mutating func begin(at now: Instant) -> Bool {
    guard let deadline, deadline <= now else { return false }
    fetching = .underWay
    return true
  }

  /// Returns whether a request has to wait for a fetch, which is under way or due now.
  public mutating func waits(
    forKey id: String?, for algorithm: SignatureAlgorithm, at now: Instant
  ) -> Bool {
    guard keys.choice(of: id, for: algorithm) == .unknown else { return false }
    if areAwaited(at: now) { return true }
    // Keys of a file are not fetched, and without keys the next fetch comes soon.
    guard deadline != nil, !keys.isEmpty else { return false }
    if let lastUnknown, lastUnknown.duration(to: now) < Self.unknownInterval { return false }
    lastUnknown = now
    fetching = .idle(due: now)
    return true
  }

  /// Makes a fetch due, since an operator asks for new keys. It changes nothing for keys of a file.
  public mutating func renew(at now: Instant) {
    if case .idle(_?) = fetching { fetching = .idle(due: now) }
  }

  /// Takes the keys of a fetch. Returns whether they differ from the former ones.
  ///
  /// - Parameter life: The time for which they may be kept; `nil` if that is not stated.
  public mutating func fetched(
    _ keys: [IssuerKey], life: Duration?, at now: Instant
  ) -> Bool {
    counts.fetched += 1
    let bounds = Self.life
    let life = min(max(life ?? bounds.lowerBound, bounds.lowerBound), bounds.upperBound)
    fetching = .idle(due: now.advanced(by: life))
    return replace(with: keys)
  }

  /// Takes the keys of a file. Returns whether they differ from the former ones.
  public mutating func replace(with keys: [IssuerKey]) -> Bool {
    defer { self.keys = keys }
    return keys != self.keys
  }

  /// Handles the failure of a fetch. The former keys remain.
  public mutating func failed(at now: Instant) {
    counts.failed += 1
    fetching = .idle(due: now.advanced(by: keys.isEmpty ? Self.firstRetry : Self.retry))
  }

  /// Returns the time after which a client may repeat a request that no key could check.
  public func retryAfter(at now: Instant) -> Duration {
    guard let deadline else { return .seconds(1) }
    // The fetch takes some time.
    return max(.zero, now.duration(to: deadline)) + .seconds(1)
  }

  /// Adds the numbers of keys and of fetches to the backend's page.
  public func report(to page: inout MetricsPage) {
    page.one("token_keys", .gauge, "Public keys of the identity provider.", UInt64(keys.count))
    page.counters(
      of: counts,
      [
        ("token_key_fetches", "Key sets that were fetched.", \.fetched),
        ("token_key_fetch_failures", "Fetches of key sets that failed.", \.failed),
      ])
  }
}

/// The response to a request for a key set.
public enum KeySetFetch: Sendable, Hashable {
  /// A response arrived, with these header fields and body.
  case answered(status: Int, cacheControl: String?, age: String?, body: [UInt8])
  /// No response arrived, for this reason.
  case failed(reason: String)

  /// Reads the keys, and the time for which they may be kept if that is stated.
  ///
  /// - Throws: A fault that says why there are none.
  public func read() throws(KeySetFault) -> (keys: [IssuerKey], life: Duration?) {
    switch self {
    case .failed(let reason): throw KeySetFault(reason)
    case .answered(200, let cacheControl, let age, let body):
      return (
        try IssuerKey.readSet(body),
        Freshness.life(cacheControl, age: age, atMost: IssuerKeys.life.upperBound)
      )
    case .answered(let status, _, _, _): throw KeySetFault("the answer has the status \(status)")
    }
  }
}
