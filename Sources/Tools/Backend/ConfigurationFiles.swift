import HoldfastServerSockets

extension BackendConfiguration {
  /// Reads the files of the configuration that exist: the certificate with its key, and the files of
  /// each service. Nothing is created.
  ///
  /// - Returns: The errors that a start would meet, at most one for the certificate and for each
  ///   service.
  public func checkFiles() -> [BackendError] {
    var errors: [BackendError] = []
    func check(_ read: () throws(BackendError) -> Void) {
      do throws(BackendError) {
        try read()
      } catch {
        errors.append(error)
      }
    }
    check { () throws(BackendError) in try checkCertificate() }
    for service in backendServices {
      check { () throws(BackendError) in try service.checkFiles(of: self) }
    }
    return errors
  }

  private func checkCertificate() throws(BackendError) {
    guard let certificate else { return }
    let files = TLSFiles(certificatePath: certificate.chainPath, keyPath: certificate.keyPath)
    do throws(SocketServerError) {
      try files.check()
    } catch {
      throw error.asBackendError
    }
  }
}
