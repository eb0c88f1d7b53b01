import HealthSync
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

  private static let gzipMark: [UInt8] = [0x1F, 0x8B]
  private static let beginning = Array(#"{"dataType":"#.utf8)

  /// Stands for gzip: it can be undone, is no JSON before, and makes batches smaller by their
  /// beginning, which all of them share.
  static func packed(_ bytes: [UInt8]) -> [UInt8] {
    let isBatch = bytes.starts(with: beginning)
    let rest = isBatch ? bytes[beginning.count...] : bytes[...]
    return gzipMark + [isBatch ? 1 : 0] + rest.map { ~$0 }
  }

  /// Undoes `packed`; `nil` for other bytes.
  static func unpacked(_ bytes: [UInt8]) -> [UInt8]? {
    guard bytes.starts(with: gzipMark), bytes.count > gzipMark.count else { return nil }
    let rest = bytes.dropFirst(gzipMark.count + 1).map { ~$0 }
    return bytes[gzipMark.count] == 1 ? beginning + rest : rest
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

  /// The answer as a phone reads it.
  var answer: UploadAnswer {
    let headers = fields.map { ($0.name.lowercased(), $0.value) }
    return UploadAnswer(
      status, Dictionary(headers) { first, _ in first }, body,
      .http(status: status, retryAfter: retryAfter, detail: detail))
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
