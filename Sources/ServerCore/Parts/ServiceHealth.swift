public import LinkCore
import LinkJSON

/// The state of one service, or of a whole backend, as `GET /healthz` states it.
public enum ServiceHealth: Sendable, Hashable, Codable {
  /// It takes work.
  case ok
  /// It is shutting down.
  case draining
  /// Its last change could not be stored, for a reason that people can read and act on.
  case failing(reason: String)

  /// The health of a server that drains or not, and whose last change was stored or not; `store` is
  /// the name of the store in the reason.
  init(isServing: Bool, storeFailure: StoreFailure?, of store: String) {
    guard isServing else { self = .draining; return }
    self = storeFailure.map { .failing(reason: $0.publicReason(of: store)) } ?? .ok
  }

  /// Returns this health, or that of a service whose store failed a check.
  public func checked(_ failure: StoreFailure?, of store: String) -> ServiceHealth {
    guard self == .ok, let failure else { return self }
    return .failing(reason: failure.publicReason(of: store))
  }

  /// Returns this health, or that of a service whose store does not answer a check.
  public func unanswered(by store: String) -> ServiceHealth {
    self == .ok ? .failing(reason: "\(store) does not answer") : self
  }

  /// The health of a backend, from that of each of its services.
  ///
  /// It drains if any of them does. Otherwise the reasons of all that fail are stated.
  public static func overall(_ services: [ServiceHealth]) -> ServiceHealth {
    guard !services.contains(.draining) else { return .draining }
    let failing = services.compactMap(\.reason)
    return failing.isEmpty ? .ok : .failing(reason: failing.joined(separator: "; "))
  }

  /// The status code of the answer (RFC 9110 section 15): 200, or 503 if it takes no work.
  public var status: Int { self == .ok ? 200 : 503 }

  /// The body of the answer.
  public var bytes: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    write(into: &writer)
    writer.endObject()
    return writer.bytes
  }

  /// Writes `status`, and `reason` if there is one, as members of an object.
  func write(into writer: inout JSONWriter) {
    writer.key("status")
    switch self {
    case .ok: writer.string("ok")
    case .draining: writer.string("draining")
    case .failing: writer.string("failing")
    }
    guard let reason else { return }
    writer.entry("reason", reason)
  }

  private var reason: String? {
    switch self {
    case .ok, .draining: nil
    case .failing(let reason): reason
    }
  }
}

extension StoreFailure {
  /// The cause without its detail, which names files.
  fileprivate func publicReason(of store: String) -> String {
    switch self {
    case .full: "the disk of \(store) is full"
    case .locked: "another program holds \(store)"
    case .corrupt: "\(store) is damaged"
    case .fromTheFuture: "\(store) is of a newer version"
    case .denied: "\(store) cannot be written"
    case .other: "\(store) failed"
    }
  }
}
