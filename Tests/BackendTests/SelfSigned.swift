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

  var chain: String { scratch("certificate.pem") }
  var key: String { scratch("key.pem") }
}
