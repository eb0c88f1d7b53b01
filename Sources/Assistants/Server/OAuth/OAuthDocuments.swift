import HoldfastCore
import HoldfastServerParts

/// The result of fetching a client's metadata document.
public enum OAuthFetch: Sendable, Hashable, Codable {
  /// A response, with its `Content-Type`, `Cache-Control` and `Age` if it has them.
  case answered(
    status: Int, contentType: String?, cacheControl: String?, age: String?, body: [UInt8])
  /// No response was received.
  case failed
}

/// The metadata documents of clients: those that are kept, and the requests that wait for one.
struct OAuthDocuments: Sendable {
  struct Entry: Sendable {
    var read: Read
    var until: Instant
  }

  /// The client that a document describes.
  typealias Read = Result<OAuthClient, Fault>

  /// The reason why a document cannot be used.
  enum Fault: Error, Sendable, Hashable {
    /// It could not be fetched.
    case missing
    /// Its `Content-Type` is not JSON.
    case otherType
    /// It is no valid description of this client.
    case invalid
  }

  /// The answer to a request for a document.
  enum Found: Sendable {
    case client(OAuthClient)
    /// The document was fetched a moment ago and could not be used.
    case unusable(Fault)
    /// The request waits. If `fetches` is true, the document must be fetched.
    case waits(fetches: Bool)
    case busy(Duration)
  }

  private let policy: OAuthPolicy
  private(set) var entries: [String: Entry] = [:]
  private(set) var waiting: [String: [RequestID]] = [:]
  /// The number of requests that wait for a document.
  private(set) var waiters = 0
  /// The addresses for which documents are being fetched, and the hosts, by document.
  private var sources: [String: (address: String, host: String)] = [:]
  private var rates: TokenBuckets

  init(_ policy: OAuthPolicy) {
    self.policy = policy
    rates = TokenBuckets(interval: policy.fetchInterval, burst: policy.fetchBurst, bound: 10_000)
  }

  /// Returns a document that is kept, or makes the request wait for it.
  mutating func find(
    _ id: String, for request: RequestID, from address: String, at now: Instant
  ) -> Found {
    if let entry = entries[id], entry.until > now {
      switch entry.read {
      case .success(let client): return .client(client)
      case .failure(let fault): return .unusable(fault)
      }
    }
    let others = waiting[id]
    guard waiters < policy.maxDocumentWaiters, (others ?? []).count < policy.waitersPerDocument,
      others != nil || waiting.count < policy.maxFetches
    else { return .busy(policy.busyRetry) }
    let host = WebURL(id)?.host ?? ""
    guard
      others != nil
        || (sources.values.count { $0.address == address } < policy.fetchesPerSource
          && sources.values.count { $0.host == host } < policy.fetchesPerSource)
    else { return .busy(policy.busyRetry) }
    if let wait = rates.spend(address, at: now) { return .busy(wait) }
    if others == nil { sources[id] = (address, host) }
    waiting[id, default: []].append(request)
    waiters += 1
    return .waits(fetches: others == nil)
  }

  /// Takes a document. Returns the requests that waited for it, in order, and its client.
  mutating func take(
    _ id: String, _ fetch: OAuthFetch, at now: Instant
  ) -> (requests: [RequestID], read: Read) {
    guard let requests = waiting.removeValue(forKey: id) else { return ([], .failure(.missing)) }
    waiters -= requests.count
    sources[id] = nil
    let (read, life) = read(id, fetch)
    keep(id, Entry(read: read, until: now.advanced(by: life)), at: now)
    return (requests, read)
  }

  /// Reads a response. Returns the time for which the result is kept, too.
  private func read(_ id: String, _ fetch: OAuthFetch) -> (Read, Duration) {
    guard case .answered(200, let type, let cacheControl, let age, let body) = fetch,
      body.count <= policy.maxDocumentBytes
    else { return (.failure(.missing), policy.failureLife) }
    guard MediaTypes.isJSON(type, orSuffix: true) else {
      return (.failure(.otherType), policy.failureLife)
    }
    guard let client = OAuthClient(document: body, id: id) else {
      return (.failure(.invalid), policy.failureLife)
    }
    return (.success(client), life(cacheControl, age: age))
  }

  private mutating func keep(_ id: String, _ entry: Entry, at now: Instant) {
    entries[id] = nil
    if entries.count >= policy.maxDocuments {
      entries = entries.filter { $0.value.until > now }
      let first = entries.min { ($0.value.until, $0.key) < ($1.value.until, $1.key) }
      if entries.count >= policy.maxDocuments, let first { entries[first.key] = nil }
    }
    if entry.until > now { entries[id] = entry }
  }

  /// Returns the time for which a document may be kept.
  private func life(_ cacheControl: String?, age: String?) -> Duration {
    Freshness.life(cacheControl, age: age, atMost: policy.maxDocumentLife) ?? policy.documentLife
  }

  /// Removes a request that no longer waits. The document is still fetched.
  mutating func forget(_ request: RequestID, waitingFor id: String) {
    guard let place = waiting[id]?.firstIndex(of: request) else { return }
    waiting[id]?.remove(at: place)
    waiters -= 1
  }
}

extension OAuthDocuments: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    rates.check(&check)
    check.require(
      entries.count <= policy.maxDocuments && waiting.count <= policy.maxFetches
        && sources.count == waiting.count,
      "oauth documents: what is kept and fetched is bounded")
    check.require(
      waiters <= policy.maxDocumentWaiters
        && waiters == waiting.values.reduce(0) { $0 + $1.count }
        && waiting.values.allSatisfy { $0.count <= policy.waitersPerDocument },
      "oauth documents: the requests that wait are counted and bounded")
  }
}
