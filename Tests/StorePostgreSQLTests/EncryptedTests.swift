import HoldfastCore
import HoldfastTestKit
import Testing

@testable import HoldfastPostgreSQLStores

/// Connections with TLS, which libpq makes as the URL says.
@Suite(.enabled(if: TestServer.isInstalled, TestServer.remedy))
struct EncryptedTests {
  /// Creates a key and a certificate for 127.0.0.1 in a directory.
  private func makeCertificate(in scratch: Scratch, named name: String) async throws {
    try await Shell.run([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
      "-subj", "/CN=\(name)", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2",
      "-keyout", scratch("\(name).key"), "-out", scratch("\(name).pem"),
    ])
  }

  @Test func `the certificate of the server is checked if the URL demands it`() async throws {
    let scratch = try Scratch()
    try await makeCertificate(in: scratch, named: "server")
    try await makeCertificate(in: scratch, named: "other")
    let server = try await TestServer()
    try await server.write(scratch.text(of: "server.pem"), to: "data/server.crt")
    try await server.write(scratch.text(of: "server.key"), to: "data/server.key")
    try await Shell.run(["chmod", "600", "\(server.path)/data/server.key"])
    let port = TestPort.random()
    try await server.start(["ssl=on", "listen_addresses=127.0.0.1", "port=\(port)"])
    func isEncrypted(_ options: String) throws -> Bool {
      let settings = try DatabaseSettings("postgres://test@127.0.0.1:\(port)/postgres?\(options)")
      let connection = try ServerChoice.open(settings, applicationName: "test", known: 0)
      let rows = try connection.run([
        Command("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
      ])
      return try #require(rows[0].first).flag(0)
    }
    let root = "sslmode=verify-full&sslrootcert="
    #expect(try isEncrypted(root + scratch("server.pem")))
    #expect(try isEncrypted("sslmode=require"))
    #expect(try !isEncrypted("sslmode=disable"))
    let failure = #expect(throws: DatabaseFailure.self) {
      try isEncrypted(root + scratch("other.pem"))
    }
    #expect(failure?.detail.contains("certificate verify failed") == true, "\(failure as Any)")
    await server.kill()
  }
}
