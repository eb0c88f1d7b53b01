/// The body of a response as far as it came, without its chunks (RFC 9112 section 6).
///
/// What breaks its framing ends it; what came before stays.
public struct ResponseBody: Sendable {
  private enum Framing {
    /// So many bytes; `nil` for as many as come.
    case length(Int?)
    case chunked(ChunkedReader)
  }

  /// What came of it, joined.
  public private(set) var bytes: [UInt8] = []
  /// Whether nothing follows, or nothing that is kept.
  public private(set) var isWhole = false
  private let maxBytes: Int
  private var framing: Framing
  /// Chunks that are not read yet.
  private var unread: [UInt8] = []

  /// The body behind a head; what is over `maxBytes` is not kept.
  public init(of head: HTTPResponseHead, maxBytes: Int) {
    self.maxBytes = maxBytes
    if head.headers.tokens("transfer-encoding").last == "chunked" {
      framing = .chunked(ChunkedReader(limits: HTTPLimits(maxBodyBytes: maxBytes)))
    } else {
      framing = .length(head.first("content-length").flatMap { Int($0) })
    }
    receive([])
  }

  /// Takes what came next.
  public mutating func receive(_ more: [UInt8]) {
    guard !isWhole else { return }
    switch framing {
    case .length(let length):
      let most = min(length ?? maxBytes, maxBytes)
      bytes += more.prefix(max(0, most - bytes.count))
      isWhole = bytes.count >= most
    case .chunked(var reader):
      unread += more
      var place = 0
      do throws(HTTPError) {
        isWhole = try reader.read(unread, from: &place)
      } catch {
        isWhole = true
      }
      unread.removeFirst(place)
      bytes = reader.body
      framing = .chunked(reader)
    }
  }
}
