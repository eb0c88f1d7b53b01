import CHoldfastOpenSSL
package import HoldfastCommandKit

/// A check of a PEM file of certificate authorities before the file is used for a connection.
package enum CertificateFile {
  /// The maximum size of the file. A system's file of all authorities is smaller.
  private static let maxBytes = 16 << 20

  /// Throws an error if the file cannot be read, contains no certificate, or contains a certificate
  /// that cannot be parsed.
  package static func check(_ path: String, option: String) throws(CommandFailure) {
    try TextFile.mustBeFile(path, option: option, .security)
    let bytes: [UInt8]
    do {
      bytes = try TextFile.read(path, atMost: maxBytes)
    } catch {
      throw CommandFailure(.security, error.cause, remedy: error.remedy)
    }
    switch certificates(in: bytes) {
    case 0:
      throw CommandFailure(
        .security, "\(path) holds no certificate in PEM form",
        remedy: "give \(option) a file that contains -----BEGIN CERTIFICATE-----")
    case nil:
      throw CommandFailure(
        .security, "\(path) holds a certificate that cannot be parsed",
        remedy: "get the file again; the part between BEGIN and END may be cut off or changed")
    case _?: return
    }
  }

  /// Returns the number of certificates; `nil` if one of them cannot be parsed.
  private static func certificates(in bytes: [UInt8]) -> Int? {
    guard let source = unsafe BIO_new_mem_buf(bytes, Int32(clamping: bytes.count)) else {
      return nil
    }
    defer { unsafe _ = BIO_free(source) }
    ERR_clear_error()
    defer { ERR_clear_error() }
    var count = 0
    while let certificate = unsafe PEM_read_bio_X509(source, nil, nil, nil) {
      unsafe X509_free(certificate)
      count += 1
    }
    // The low bits of the error code contain the reason (ERR_GET_REASON, which is a macro in
    // OpenSSL 1.1).
    return Int32(ERR_peek_last_error() & 0xFFF) == PEM_R_NO_START_LINE ? count : nil
  }
}
