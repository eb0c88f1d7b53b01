public import HoldfastCore
package import HoldfastJSON

/// The state of one service, or of a whole backend, as reported by `GET /healthz`.
public enum ServiceHealth: Sendable, Hashable, Codable {
  /// The service accepts work.
  case ok
  /// The service is shutting down.
  case draining
  /// The last change could not be stored. The reason tells an operator what to fix.
  case failing(reason: String)

  /// Creates the health of a server from its drain state and the result of its last write.
  ///
  /// - Parameter store: The name of the store in the reason.
  package init(isServing: Bool, storeFailure: StoreFailure?, of store: String) {
    guard isServing else { self = .draining; return }
    self = storeFailure.map { .failing(reason: $0.publicReason(of: store)) } ?? .ok
  }

  /// Returns this health, or `failing` if the service is `ok` but a check of its store failed.
  public func checked(_ failure: StoreFailure?, of store: String) -> ServiceHealth {
    guard self == .ok, let failure else { return self }
    return .failing(reason: failure.publicReason(of: store))
  }

  /// Returns this health, or `failing` if the service is `ok` but its store does not respond.
  public func unanswered(by store: String) -> ServiceHealth {
    self == .ok ? .failing(reason: "\(store) does not answer") : self
  }

  /// Returns the overall health of a backend, given the health of each service.
  ///
  /// The backend is draining if any service is. Otherwise, the reasons of all failing services are
  /// combined.
  public static func overall(_ services: [ServiceHealth]) -> ServiceHealth {
    guard !services.contains(.draining) else { return .draining }
    let failing = services.compactMap(\.reason)
    return failing.isEmpty ? .ok : .failing(reason: failing.joined(separator: "; "))
  }

  /// The status code of the response: 200, or 503 if no work is accepted (RFC 9110 section 15).
  public var status: Int { self == .ok ? 200 : 503 }

  /// The body of the response.
  public var bytes: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    write(into: &writer)
    writer.endObject()
    return writer.bytes
  }

  /// Writes `status`, and `reason` if there is one, as members of an object.
  package func write(into writer: inout JSONWriter) {
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
  /// Returns the cause without its detail, which would reveal file names.
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
