import Glibc
import HoldfastServerSockets

extension BackendConfiguration {
  /// Reads the files of the configuration that exist: the certificate with its key, the secret of
  /// hooks, the identity provider's keys, the token of operators with the erasures, and the files of
  /// each service. Nothing is created.
  ///
  /// - Returns: The errors that a start would meet, at most one for each of them.
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
    check { () throws(BackendError) in _ = try hooks.open(nil) }
    check { () throws(BackendError) in
      if let identity, case .file = identity.keys { _ = try KeySource(identity).read() }
    }
    check { () throws(BackendError) in try checkAdmin() }
    for service in backendServices {
      check { () throws(BackendError) in try service.checkFiles(of: self) }
    }
    return errors
  }

  private func checkAdmin() throws(BackendError) {
    guard let admin else { return }
    if let path = admin.tokenFile, unsafe access(path, F_OK) == 0 {
      _ = try AdminToken.find(at: path)
    }
    _ = try AdminWork.jobs(in: PrivateFile(directory: dataDirectory, name: AdminWork.fileName))
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
