/// The received part of a response's body, without chunk framing (RFC 9112 section 6).
///
/// A framing violation ends the body. Bytes that were received before are kept.
public struct ResponseBody: Sendable {
  private enum Framing {
    /// A number of bytes; `nil` for all bytes until the end of the connection.
    case length(Int?)
    case chunked(ChunkedReader)
  }

  /// The bytes received so far, joined.
  public private(set) var bytes: [UInt8] = []
  /// Whether the body is complete or further bytes are not kept.
  public private(set) var isWhole = false
  private let maxBytes: Int
  private var framing: Framing
  /// The received chunks that have not been read yet.
  private var unread: [UInt8] = []

  /// Creates the body that follows a head. Bytes over `maxBytes` are not kept.
  public init(of head: HTTPResponseHead, maxBytes: Int) {
    self.maxBytes = maxBytes
    if head.headers.tokens("transfer-encoding").last == "chunked" {
      framing = .chunked(ChunkedReader(limits: HTTPLimits(maxBodyBytes: maxBytes)))
    } else {
      framing = .length(head.first("content-length").flatMap { Int($0) })
    }
    receive([])
  }

  /// Adds received bytes.
  public mutating func receive(_ more: [UInt8]) {
    guard !isWhole else { return }
    switch framing {
    case .length(let length):
      let most = min(length ?? maxBytes, maxBytes)
      bytes += more.prefix(max(0, most - bytes.count))
      isWhole = bytes.count >= most
    case .chunked(var reader):
      unread += more
      var offset = 0
      do throws(HTTPError) {
        isWhole = try reader.read(unread, from: &offset)
      } catch {
        isWhole = true
      }
      unread.removeFirst(offset)
      bytes = reader.body
      framing = .chunked(reader)
    }
  }
}
