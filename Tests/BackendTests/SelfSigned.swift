import Foundation
import HoldfastTestKit

/// A self-signed certificate for localhost, created with the `openssl` command.
struct SelfSigned {
  private let scratch: Scratch

  init() async throws {
    scratch = try Scratch()
    try await Shell.run([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
      "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
      "-days", "2", "-keyout", key, "-out", chain,
    ])
  }

  /// Creates a certificate that is valid between two times, such as `20200101000000Z`.
  init(from start: String, to end: String) async throws {
    scratch = try Scratch()
    let settings = """
      [ca]
      database = \(scratch("index"))
      new_certs_dir = \(scratch.path)
      rand_serial = yes
      default_md = sha256
      policy = names
      [names]
      commonName = supplied

      """
    for (name, content) in [("index", ""), ("settings", settings)] {
      try content.write(toFile: scratch(name), atomically: false, encoding: .utf8)
    }
    try await Shell.run([
      "openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
      "-subj", "/CN=localhost", "-keyout", key, "-out", scratch("request.pem"),
    ])
    // The command `req` makes no certificate that has expired.
    try await Shell.run([
      "openssl", "ca", "-batch", "-notext", "-config", scratch("settings"), "-name", "ca",
      "-selfsign", "-keyfile", key, "-in", scratch("request.pem"), "-out", chain,
      "-startdate", start, "-enddate", end,
    ])
  }

  var chain: String { scratch("certificate.pem") }
  var key: String { scratch("key.pem") }
}
