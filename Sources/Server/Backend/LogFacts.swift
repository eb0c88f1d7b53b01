import HoldfastCore
import HoldfastProtocols
import HoldfastServerParts
import HoldfastServerSockets

/// The form in which the log shows the addresses of clients.
public enum LogAddresses: String, Sendable, CaseIterable {
  /// The whole address.
  case full
  /// The network: the first 24 bits of an IPv4 address, the first 48 of an IPv6 address.
  case prefix
  /// No addresses.
  case none

  func text(of address: NetworkAddress) -> String? {
    switch self {
    case .full: address.text
    case .prefix: address.networkText
    case .none: nil
    }
  }
}

/// The share of the successful requests that the log has, from 0 to 1.
public struct LogSample: Sendable, Hashable {
  /// The share, such as 0.01 for one request in a hundred.
  public let rate: Double

  /// Creates a share. Returns `nil` for a number that is not from 0 to 1.
  public init?(_ rate: Double) {
    guard (0...1).contains(rate) else { return nil }
    self.rate = rate
  }

  /// Returns whether a request belongs to the sample.
  ///
  /// - Parameter chance: A number from 0 up to, but not including, 1.
  func takes(_ chance: Double) -> Bool { chance < rate }
}

/// What a log shows of requests.
struct LogView: Sendable {
  var addresses = LogAddresses.prefix
  /// The share of the successful requests; `nil` for all of them, at the level `debug`.
  var sample: LogSample?
  /// The proxies that report the addresses of clients.
  var proxies = TrustedProxies()
  /// A function that returns a random number from 0 up to, but not including, 1.
  var chance: @Sendable () -> Double = { .random(in: 0..<1) }
}

extension BackendLog {
  /// The methods that the log names (RFC 9110 section 9, RFC 5789). A client may send any other word
  /// as its method.
  private static let methods: Set<String> = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
  ]

  /// Returns the line of a request, with what is known when it arrives.
  func line(
    of head: HTTPRequestHead, on connection: ConnectionID?, _ hub: SocketHub
  ) -> LogLine {
    var line = LogLine(.request)
    line.connection = connection?.number
    line.address = connection.flatMap { hub.client(of: $0, head, through: view.proxies) }
    line.method = Self.methods.contains(head.method) ? head.method : "other"
    let traces = head.all("traceparent")
    // The specification permits the field once.
    if traces.count == 1 { line.traceID = TraceParent(traces[0])?.traceID }
    return line
  }
}
