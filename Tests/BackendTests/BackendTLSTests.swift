import HoldfastBackend
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60))) struct BackendTLSTests {
  @Test func `serves TLS with its certificate`() async throws {
    let certificate = try await SelfSigned()
    try await BackendRig.run {
      $0.certificate = .init(chainPath: certificate.chain, keyPath: certificate.key)
    } _: { rig in
      #expect(rig.address.url.hasPrefix("https://127.0.0.1:"))
      let answer = try await Shell.run(
        [
          "python3", "-c",
          """
          import ssl, urllib.request
          context = ssl.create_default_context(cafile='\(certificate.chain)')
          answer = urllib.request.urlopen('\(rig.address.url)/healthz', context=context)
          print(answer.read().decode())
          """,
        ])
      #expect(answer == "{\"status\":\"ok\"}\n")
    }
  }

  @Test func `does not start if the certificate is missing`() async throws {
    let scratch = try Scratch()
    var configuration = BackendConfiguration(dataDirectory: scratch("data"))
    configuration.certificate = .init(chainPath: "/nowhere/a.pem", keyPath: "/nowhere/b.pem")
    let backend = Backend(configuration)
    let error = await #expect(throws: BackendError.self) { try await backend.start() }
    #expect(error?.description.hasPrefix("the certificate cannot be used: ") == true)
  }
}
