import LinkCore
import LinkServerCore
import LinkWire

/// A request as it is on the wire: its header fields are written by its client and read by the
/// server.
public struct SyncRequest: Sendable {
  var method: String
  /// The URL at the server.
  var url: String
  var fields: [UploadField]
  var body: [UInt8]
  /// The number of the secret that it shows.
  var secret: Int

  init(
    _ method: String, _ url: String, _ fields: [UploadField] = [], body: [UInt8] = [],
    secret: Int
  ) {
    (self.method, self.url, self.fields) = (method, url, fields)
    (self.body, self.secret) = (body, secret)
  }

  static let host = "localhost"
  static let endpoint = "http://\(host)\(SyncPath.sync.rawValue)"

  /// Its path, and the item `id` of its query.
  private var target: (path: String, id: String?) {
    let origin = "http://\(Self.host)"
    let rest = url.hasPrefix(origin) ? url.dropFirst(origin.count) : url[...]
    let parts = rest.split(separator: "?", maxSplits: 1)
    let id = parts.count > 1 && parts[1].hasPrefix("id=") ? String(parts[1].dropFirst(3)) : nil
    return (String(parts.first ?? ""), id)
  }

  /// It as it comes to the server, with so many bytes of its body.
  func received(_ count: Int? = nil, candidate: UUID128) -> SyncReceivedRequest? {
    let (text, id) = target
    guard let path = SyncPath(rawValue: text) else { return nil }
    var all = ["host": Self.host, "content-length": "\(body.count)"]
    for field in fields { all[field.name.lowercased()] = field.value }
    return SyncReceivedRequest(
      method: method, path: path, fields: all, query: id.map { ["id": $0] } ?? [:],
      candidate: candidate, body: Array(body.prefix(count ?? body.count)))
  }

  /// Stands for gzip: it can be undone, and is no JSON before.
  static func packed(_ bytes: [UInt8]) -> [UInt8] { [0x1F, 0x8B] + bytes.map { ~$0 } }

  /// Undoes `packed`; `nil` for other bytes.
  static func unpacked(_ bytes: [UInt8]) -> [UInt8]? {
    bytes.starts(with: [0x1F, 0x8B]) ? bytes.dropFirst(2).map { ~$0 } : nil
  }
}

extension SyncFeature.Reply {
  /// An answer as it is on the wire.
  init(_ answer: SyncAnswer) {
    let fields = answer.headers.map { UploadField($0.0, $0.1) }
    let seconds = fields.value(of: "retry-after").flatMap { Int64($0) }
    self.init(
      status: answer.status, retryAfter: seconds.map { .seconds($0) }, fields: fields,
      detail: SyncReply.reason(of: answer.body) ?? "", body: answer.body)
  }

  /// Reads it as the answer to a request of an upload.
  func read(_ dialect: UploadDialect, of url: String) -> UploadReply {
    UploadReply(status, dialect, of: url, body: body) { fields.value(of: $0.lowercased()) }
  }

  /// The epoch that it names.
  var epoch: String? { SyncIdentity.epoch { fields.value(of: $0) } }
}

extension [UploadField] {
  /// Returns the value of a field by its name in lower case.
  func value(of name: String) -> String? {
    first { $0.name.lowercased() == name }?.value
  }
}
