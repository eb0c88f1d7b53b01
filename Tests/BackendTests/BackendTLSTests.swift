import Dispatch
import Foundation
import HoldfastBackend
import Testing

@Suite(.timeLimit(.minutes(1))) struct BackendTLSTests {
  @Test func `serves TLS with its certificate`() async throws {
    let folder = NSTemporaryDirectory() + "holdfast-tls-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let certificate = BackendConfiguration.Certificate(
      chainPath: folder + "/certificate.pem", keyPath: folder + "/key.pem")
    _ = try await output(
      of: "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2",
        "-keyout", certificate.keyPath, "-out", certificate.chainPath,
      ])
    try await BackendRig.run {
      $0.certificate = certificate
    } _: { rig in
      #expect(rig.address.url.hasPrefix("https://127.0.0.1:"))
      let answer = try await output(
        of: "python3",
        [
          "-c",
          """
          import ssl, urllib.request
          context = ssl.create_default_context(cafile='\(certificate.chainPath)')
          answer = urllib.request.urlopen('\(rig.address.url)/healthz', context=context)
          print(answer.read().decode())
          """,
        ])
      #expect(answer == "{\"status\":\"ok\"}\n")
    }
  }

  @Test func `does not start with a certificate that is not there`() async throws {
    var configuration = BackendConfiguration(
      dataDirectory: NSTemporaryDirectory() + "holdfast-tls-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(atPath: configuration.dataDirectory) }
    configuration.certificate = .init(chainPath: "/nowhere/a.pem", keyPath: "/nowhere/b.pem")
    let backend = Backend(configuration)
    let error = await #expect(throws: BackendError.self) { try await backend.start() }
    #expect(error?.description.hasPrefix("the certificate cannot be used: ") == true)
  }

  /// What a program writes before it ends; waited for on a thread that may block.
  private func output(of program: String, _ arguments: [String]) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "holdfast.tests.program").async {
        continuation.resume(
          with: Result {
            let process = Process()
            let pipe = Pipe()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [program] + arguments
            process.standardOutput = pipe
            process.standardError = FileHandle.nullDevice
            try process.run()
            let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            return String(decoding: data, as: UTF8.self)
          })
      }
    }
  }
}
