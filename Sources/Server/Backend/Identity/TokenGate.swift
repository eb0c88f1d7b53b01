import HoldfastCore
import HoldfastIdentity
import HoldfastProtocols
import HoldfastServerParts
import HoldfastServerSockets

/// The requests that wait for the keys of an identity provider, so that the first tokens of a new key
/// are not refused.
struct TokenGate {
  /// A request or an upgrade, which has no body.
  struct Held {
    var request: RequestID
    var head: HTTPRequestHead
    var body: [UInt8]?
  }

  /// The maximum number of requests that wait. Further ones are answered with 503.
  static let maxHeld = 256
  /// The maximum size of the bodies of all requests that wait, in bytes.
  static let maxBytes = 16 << 20

  private let authority: TokenAuthority?
  private var held: [Held] = []
  private var bytes = 0

  init(_ authority: TokenAuthority?) { self.authority = authority }

  /// The time of the next fetch of keys; `nil` for none.
  var deadline: Instant? { authority?.deadline }

  /// Holds a request that has to wait for keys. Returns false if it need not, or if too many wait.
  mutating func holds(
    _ request: RequestID, _ head: HTTPRequestHead, _ body: [UInt8]?, at now: Instant
  ) -> Bool {
    guard let authority, authority.waits(head, at: now), held.count < Self.maxHeld,
      bytes + (body?.count ?? 0) <= Self.maxBytes
    else { return false }
    bytes += body?.count ?? 0
    held.append(Held(request: request, head: head, body: body))
    return true
  }

  /// Forgets a request whose client has left. Returns false if it does not wait.
  mutating func forget(_ request: RequestID) -> Bool {
    guard let index = held.firstIndex(where: { $0.request == request }) else { return false }
    bytes -= held.remove(at: index).body?.count ?? 0
    return true
  }

  /// Returns the requests that no longer wait, in order.
  mutating func release() -> [Held] {
    defer { (held, bytes) = ([], 0) }
    return held
  }

  /// Returns a fetch that is due, as a function to call outside the loop; `nil` if none is due.
  func fetchIfDue(at now: Instant) -> (@Sendable () async -> KeySetFetch)? {
    guard let authority, authority.beginFetch(at: now) else { return nil }
    return { await authority.fetch() }
  }

  /// Takes the result of a fetch, and logs it.
  func take(_ fetch: KeySetFetch, at now: Instant, _ log: BackendLog) {
    guard let authority else { return }
    do throws(KeySetFault) {
      log.note(.tokenKeys, count: UInt64(try authority.fetched(fetch, at: now)))
    } catch {
      log.note(.tokenKeysFailed, error.description)
    }
  }

  /// Adds the numbers of keys and of verified tokens to the backend's page.
  func report(to page: inout MetricsPage) { authority?.report(to: &page) }
}
