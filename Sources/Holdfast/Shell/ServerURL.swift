/// URLs of a backend: its address and the paths of its interface.
enum ServerURL {
  /// Returns the URL of a path; a path of the server's address is kept as a prefix.
  static func http(_ server: String, _ path: String) -> String {
    var base = server
    while base.hasSuffix("/") { base.removeLast() }
    return base + path
  }

  /// Returns the WebSocket URL of a path.
  static func socket(_ server: String, _ path: String) -> String {
    let url = http(server, path)
    if url.hasPrefix("https:") { return "wss:" + url.dropFirst("https:".count) }
    if url.hasPrefix("http:") { return "ws:" + url.dropFirst("http:".count) }
    return url
  }
}
