/// A backend's address, put together with the paths of its interface.
enum ServerURL {
  /// The address of a path; a path that the server's own address has stays in front.
  static func http(_ server: String, _ path: String) -> String {
    var base = server
    while base.hasSuffix("/") { base.removeLast() }
    return base + path
  }

  /// The same for a WebSocket.
  static func socket(_ server: String, _ path: String) -> String {
    let url = http(server, path)
    if url.hasPrefix("https:") { return "wss:" + url.dropFirst("https:".count) }
    if url.hasPrefix("http:") { return "ws:" + url.dropFirst("http:".count) }
    return url
  }
}
