import Glibc
import HoldfastCore
import HoldfastPorts
import HoldfastServerParts
import HoldfastServerSockets
import Synchronization

/// The watch over the files of the certificate, which loads them again when they have changed.
final class CertificateWatch: Sendable {
  private let files: TLSFiles
  private let log: BackendLog
  private let rules: Mutex<CertificateReloads>
  private let looks = Mutex<Task<Void, Never>?>(nil)

  /// Reads the files for the first time.
  ///
  /// - Throws: `.certificate` if they cannot be used.
  init(_ certificate: BackendConfiguration.Certificate, log: BackendLog) throws(BackendError) {
    let files = certificate.files
    let found = CertificateReloads.Files(files)
    let validity = CertificateReloads.Validity(of: try Self.context(of: files))
    (self.files, self.log) = (files, log)
    rules = Mutex(CertificateReloads(found, validity))
  }

  /// Looks at the files once in each `interval`, until `stop`.
  func follow(_ backend: Backend, every interval: Duration) {
    looks.withLock { task in
      task = Task {
        let clock = BootClock()
        while !Task.isCancelled {
          do {
            try await clock.wait(until: clock.now.advanced(by: interval))
            try await backend.reloadCertificate(isRequested: false)
          } catch {
            // The log has the reason. After a cancellation, the loop ends.
          }
        }
      }
    }
  }

  func stop() async {
    let task = looks.withLock(\.self)
    task?.cancel()
    await task?.value
  }

  /// Returns the TLS state of the files; `nil` if they need not be loaded.
  ///
  /// - Throws: `.certificate` if the files cannot be used, also if that was logged before, or if their
  ///   certificate is not valid now while the one in use is.
  func load(isRequested: Bool) throws(BackendError) -> sending TLSContext? {
    // The files are looked at before they are read: a later change is then noticed by the next look.
    let found = CertificateReloads.Files(files)
    guard rules.withLock({ $0.mustLoad(found, isRequested: isRequested) }) else { return nil }
    do throws(BackendError) {
      try Self.demandRegular(files)
      let context = try Self.context(of: files)
      let validity = CertificateReloads.Validity(of: context)
      let objection = rules.withLock { $0.objection(to: validity, at: BootClock().wall) }
      if let objection {
        throw .certificate(detail: "\(files.certificatePath): \(objection)")
      }
      rules.withLock { $0.loaded(found, validity) }
      return context
    } catch {
      let reason = error.description
      if rules.withLock({ $0.refused(found, reason, isRequested: isRequested) }) {
        log.note(.reloadFailed, reason)
      }
      throw error
    }
  }

  func report(to page: inout MetricsPage) {
    rules.withLock(\.self).report(to: &page, at: BootClock().wall)
  }

  /// Throws an error if a path names a pipe or a device, which could block the reader.
  private static func demandRegular(_ files: TLSFiles) throws(BackendError) {
    for path in [files.certificatePath, files.keyPath] {
      var found = stat()
      guard unsafe stat(path, &found) == 0, found.st_mode & S_IFMT != S_IFREG else { continue }
      throw .certificate(detail: "\(path): not a regular file")
    }
  }

  private static func context(of files: TLSFiles) throws(BackendError) -> sending TLSContext {
    do throws(SocketServerError) {
      return try TLSContext(files)
    } catch {
      throw error.asBackendError
    }
  }
}

extension Backend {
  /// Loads the certificate again if its files have changed, or on request, for connections that are
  /// accepted from now on. Has no effect without TLS.
  ///
  /// - Throws: `.certificate` if the files cannot be used. The former certificate stays in use.
  func reloadCertificate(isRequested: Bool) async throws(BackendError) {
    let sockets = try sockets()
    guard let context = try certificate?.load(isRequested: isRequested) else { return }
    let expiry = context.expiry
    await sockets.replaceTLS(with: context)
    log.note(.certificateLoaded, "valid until \(RFC3339.format(expiry))")
  }
}

extension BackendConfiguration.Certificate {
  /// The files for the sockets.
  var files: TLSFiles { TLSFiles(certificatePath: chainPath, keyPath: keyPath) }
}

extension CertificateReloads.Validity {
  /// Reads the validity of the certificate of a TLS state.
  init(of context: borrowing TLSContext) {
    self.init(from: context.start, to: context.expiry)
  }
}

extension CertificateReloads.Files {
  /// Looks at both files.
  init(_ files: TLSFiles) {
    self.init(
      chain: CertificateReloads.File(path: files.certificatePath),
      key: CertificateReloads.File(path: files.keyPath))
  }
}

extension CertificateReloads.File {
  /// Looks at the file to which a path leads. Returns `nil` if there is none.
  fileprivate init?(path: String) {
    var found = stat()
    guard unsafe stat(path, &found) == 0 else { return nil }
    self.init(
      device: UInt64(found.st_dev), number: UInt64(found.st_ino), size: Int64(found.st_size),
      modified: Timestamp(found.st_mtim), changed: Timestamp(found.st_ctim))
  }
}
