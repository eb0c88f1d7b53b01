/// A TCP port for a server of a test that must know its port before it listens, or that listens on
/// the same port again.
///
/// A port that the kernel selected is not suitable: once the server has stopped, the kernel may
/// select it for another socket.
public enum TestPort {
  /// Returns a random port on which nothing listens at 127.0.0.1, below those that Linux selects
  /// (`ip_local_port_range`, from 32768).
  public static func random() -> UInt16 {
    while true {
      let port = UInt16.random(in: 10_240..<32_768)
      if let socket = try? TCP.bound(to: port) {
        TCP.close(socket)
        return port
      }
    }
  }
}
