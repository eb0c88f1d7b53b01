/// Why a server could not be made or started.
public enum SocketServerError: Error, Sendable, Equatable {
  /// The host is not an address of this machine; the resolver's words.
  case address(host: String, detail: String)
  /// The port could not be had; `errno` of bind or listen.
  case bind(host: String, port: UInt16, errno: Int32)
  /// The certificate or key was refused; OpenSSL's words.
  case tls(detail: String)
  /// A system call failed.
  case system(call: String, errno: Int32)
  /// `start` was called before, or the server has been stopped.
  case alreadyStarted
}
