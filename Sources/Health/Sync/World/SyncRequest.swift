import HoldfastCore
import HoldfastHealthSync
import HoldfastLinkChecks
import HoldfastSyncChecks
import HoldfastSyncData
import HoldfastSyncServer
import HoldfastUploads
import HoldfastWorldKernel

/// A request in its encoded form. The client writes the header fields, and the server reads them.
public struct SyncRequest: Sendable {
  var method: String
  /// The request's URL.
  var url: String
  var fields: [UploadField]
  var body: [UInt8]
  /// The number of the secret that the request contains.
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

  /// The path of the URL, and the `id` item of its query.
  private var target: (path: String, id: String?) {
    let origin = "http://\(Self.host)"
    let rest = url.hasPrefix(origin) ? url.dropFirst(origin.count) : url[...]
    let parts = rest.split(separator: "?", maxSplits: 1)
    let id = parts.count > 1 && parts[1].hasPrefix("id=") ? String(parts[1].dropFirst(3)) : nil
    return (String(parts.first ?? ""), id)
  }

  /// Returns the request as the server receives it, with the first `count` bytes of its body.
  ///
  /// The result is `nil` if the path is unknown.
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

  /// Compresses bytes with a substitute for gzip.
  ///
  /// The result can be decompressed, and it is not valid JSON. Batches become smaller, because the
  /// beginning that all of them share is omitted.
  static func packed(_ bytes: [UInt8]) -> [UInt8] {
    let isBatch = bytes.starts(with: beginning)
    let rest = isBatch ? bytes[beginning.count...] : bytes[...]
    return gzipMark + [isBatch ? 1 : 0] + rest.map { ~$0 }
  }

  /// Reverses `packed`. Returns `nil` if the bytes are not packed.
  static func unpacked(_ bytes: [UInt8]) -> [UInt8]? {
    guard bytes.starts(with: gzipMark), bytes.count > gzipMark.count else { return nil }
    let rest = bytes.dropFirst(gzipMark.count + 1).map { ~$0 }
    return bytes[gzipMark.count] == 1 ? beginning + rest : rest
  }
}

extension SyncFeature.Reply {
  /// Creates a reply from the server's answer.
  init(_ answer: SyncAnswer) {
    let fields = answer.headers.map { UploadField($0.0, $0.1) }
    let seconds = fields.value(of: "retry-after").flatMap { Int64($0) }
    self.init(
      status: answer.status, retryAfter: seconds.map { .seconds($0) }, fields: fields,
      detail: SyncReply.reason(of: answer.body) ?? "", body: answer.body)
  }

  /// The reply as the phone reads it.
  var answer: UploadAnswer {
    let headers = fields.map { ($0.name.lowercased(), $0.value) }
    return UploadAnswer(
      status, Dictionary(headers) { first, _ in first }, body,
      .http(status: status, retryAfter: retryAfter, detail: detail))
  }

  /// The epoch in the reply's header fields.
  var epoch: String? { SyncIdentity.epoch { fields.value(of: $0) } }
}

extension [UploadField] {
  /// Returns the value of the field with the given lowercase name.
  func value(of name: String) -> String? {
    first { $0.name.lowercased() == name }?.value
  }
}
