extension TLSFiles {
  /// Reads both files.
  ///
  /// - Throws: `.tls` if they cannot be read, or the key does not belong to the certificate.
  public func check() throws(SocketServerError) {
    _ = try TLSContext(self)
  }
}
