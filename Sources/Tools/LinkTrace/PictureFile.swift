import HoldfastPages
import HoldfastProtocols

/// A page in one file that shows traces. It loads nothing and sends nothing.
public enum PictureFile {
  /// The total size of traces in bytes above which a page contains them compressed.
  public static let largestPlain = 4 << 20

  /// Returns a page in UTF-8.
  ///
  /// - Parameter traces: The traces, each in the format of `TraceWriter`.
  public static func bytes(of traces: [[UInt8]]) -> [UInt8] {
    let isLarge = traces.reduce(0) { $0 + $1.count } > largestPlain
    return page(connect: "'none'", traces.map { isLarge ? packed($0) : plain($0) }.joined())
  }

  /// Returns a page in UTF-8 that follows a lab, whose server sends the traces.
  ///
  /// - Parameter lab: The JSON object that describes the links and the buttons of the lab.
  public static func bytes(following lab: [UInt8]) -> [UInt8] {
    page(connect: "'self'", element("application/x-lab", escaped(lab)))
  }

  private static func page(connect: String, _ traces: String) -> [UInt8] {
    Page.picture.bytes(with: ["connect": connect, "traces": traces])
  }

  private static func plain(_ trace: [UInt8]) -> String {
    element("application/x-trace", escaped(trace))
  }

  private static func escaped(_ json: [UInt8]) -> String {
    // Inside a script element, only `</script` and `<!--` have a meaning. In JSON, `<` occurs in
    // strings alone, where the escape is the same character.
    var escaped: [UInt8] = []
    escaped.reserveCapacity(json.count)
    for byte in json {
      if byte == UInt8(ascii: "<") {
        escaped += Array("\\u003c".utf8)
      } else {
        escaped.append(byte)
      }
    }
    return String(decoding: escaped, as: UTF8.self)
  }

  private static func packed(_ trace: [UInt8]) -> String {
    // Without memory to compress it, the trace is written as it is.
    guard let bytes = GzipBody.deflate(trace) else { return plain(trace) }
    return element("application/x-trace+gzip", Base64.encode(bytes))
  }

  private static func element(_ type: String, _ content: String) -> String {
    "<script type=\"\(type)\">\n\(content)</script>\n"
  }
}
