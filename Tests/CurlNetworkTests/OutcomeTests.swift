import CHoldfastCurl
import HoldfastCore
import HoldfastSocketEngine
import Testing

@testable import HoldfastCurlNetwork

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct OutcomeTests {
  private static func outcome(
    _ code: CURLcode, _ systemError: Int32 = 0, verification: Int = 0, tunnel: Int = 0,
    text: String = "t", phase: LinkFailure.Phase = .connect
  ) -> LinkFailure {
    Outcome(
      code: code, systemError: systemError, verification: verification, tunnelStatus: tunnel,
      text: text, phase: phase, host: "h"
    ).failure
  }

  @Test(
    arguments: [
      (ECONNREFUSED, .refused), (ENETUNREACH, .unreachable(detail: "t")),
      (EHOSTUNREACH, .unreachable(detail: "t")), (ETIMEDOUT, .timeout(.connect)),
      (ECONNRESET, .reset), (EMFILE, .local(detail: "t")), (0, .unreachable(detail: "t")),
    ] as [(Int32, LinkFailure)])
  func `each error of a failed connect maps to its failure`(
    systemError: Int32, failure: LinkFailure
  ) {
    #expect(Self.outcome(CURLE_COULDNT_CONNECT, systemError) == failure)
  }

  @Test func `a descriptor that cannot be watched is a failure of this machine`() {
    #expect(
      Self.outcome(CURLE_ABORTED_BY_CALLBACK)
        == .local(detail: "The system cannot watch more descriptors."))
  }

  @Test(
    arguments: [
      (9, .notYetValid), (10, .expired), (18, .selfSigned), (19, .unknownAuthority),
      (20, .unknownAuthority), (21, .unknownAuthority), (23, .revoked), (62, .wrongHost),
      (26, .other),
    ] as [(Int, LinkFailure.TLSReason)])
  func `each refused certificate maps to its TLS reason`(
    verification: Int, reason: LinkFailure.TLSReason
  ) {
    #expect(
      Self.outcome(CURLE_PEER_FAILED_VERIFICATION, verification: verification)
        == .tls(reason, detail: "t"))
  }

  @Test(
    arguments: [
      ("error:0A000102:SSL routines::unsupported protocol", .version),
      ("error:0A00042E:SSL routines::tlsv1 alert protocol version", .version),
      ("error:0A000410:SSL routines::sslv3 alert handshake failure", .handshake),
    ] as [(String, LinkFailure.TLSReason)])
  func `each failed handshake maps to its TLS reason`(text: String, reason: LinkFailure.TLSReason) {
    // `ENETUNREACH` is left over from a slower attempt with an IPv6 address.
    #expect(
      Self.outcome(CURLE_SSL_CONNECT_ERROR, ENETUNREACH, text: text) == .tls(reason, detail: text))
  }

  @Test(
    arguments: [
      ("OpenSSL SSL_connect: Connection reset by peer in connection to h:443 ", .reset),
      ("OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to h:443 ", .ended),
      ("OpenSSL SSL_read: error:0A000126:SSL routines::unexpected eof while reading", .ended),
      ("Recv failure: Connection timed out", .timeout(.silence)),
    ] as [(String, LinkFailure)])
  func `each error of a lost stream maps to its failure`(text: String, failure: LinkFailure) {
    #expect(Self.outcome(CURLE_SSL_CONNECT_ERROR, text: text) == failure)
    #expect(Self.outcome(CURLE_RECV_ERROR, text: text) == failure)
  }

  @Test(arguments: LinkFailure.Phase.allCases)
  func `a time-out names its phase`(phase: LinkFailure.Phase) {
    #expect(Self.outcome(CURLE_OPERATION_TIMEDOUT, phase: phase) == .timeout(phase))
  }

  @Test func `failures of the proxy are reported as such`() {
    let text = "Failed to connect to proxy port 3128 after 1 ms: Couldn't connect to server"
    #expect(Self.outcome(CURLE_COULDNT_CONNECT, ECONNREFUSED, text: text) == .proxy(detail: text))
    #expect(Self.outcome(CURLE_COULDNT_RESOLVE_PROXY) == .proxy(detail: "t"))
    #expect(
      Self.outcome(CURLE_RECV_ERROR, tunnel: 502) == .proxy(detail: "The proxy answered 502."))
    #expect(Self.outcome(CURLE_RECV_ERROR, ECONNRESET, tunnel: 200) == .reset)
  }

  @Test(arguments: ["::1", "[::1]"])
  func `an IPv6 address in brackets is not mistaken for a proxy`(host: String) {
    let text = "Failed to connect to ::1 port 1 after 0 ms: Couldn't connect to server"
    let outcome = Outcome(
      code: CURLE_COULDNT_CONNECT, systemError: ECONNREFUSED, text: text, phase: .connect,
      host: host)
    #expect(outcome.failure == .refused)
  }

  @Test func `authorities that cannot be read are a failure of TLS`() {
    #expect(Self.outcome(CURLE_SSL_CACERT_BADFILE) == .tls(.other, detail: "t"))
    #expect(Self.outcome(CURLE_SSL_CERTPROBLEM) == .tls(.other, detail: "t"))
  }

  @Test func `DNS, protocol and local errors map to their failures`() {
    #expect(Self.outcome(CURLE_COULDNT_RESOLVE_HOST) == .dns(detail: "t"))
    #expect(Self.outcome(CURLE_GOT_NOTHING) == .ended)
    #expect(Self.outcome(CURLE_PARTIAL_FILE) == .ended)
    #expect(Self.outcome(CURLE_WEIRD_SERVER_REPLY) == .protocolError(detail: "t"))
    #expect(Self.outcome(CURLE_OUT_OF_MEMORY) == .local(detail: "t"))
  }

  @Test func `a header field that libcurl rejects is a protocol error`() {
    let failure = LinkFailure.protocolError(detail: "A field of the answer's head is too long.")
    #expect(Self.outcome(CURLE_OUT_OF_MEMORY, phase: .response) == failure)
    // This is `CURLE_TOO_LARGE` of libcurl 8.6.
    #expect(Self.outcome(CURLcode(rawValue: 100)) == failure)
  }

  @Test func `a detail is withheld only if it contains a secret`() {
    let secrets = Secrets(
      headers: [("Authorization", "Bearer to/ken1")], query: [("q", "par am")])
    for text in ["a Bearer to/ken1", "a to/ken1 b", "q=par am", "q=par%20am"] {
      #expect(secrets.clean(.local(detail: text)) == .local(detail: "(withheld)"))
      #expect(
        secrets.clean(.closed(code: 1008, reason: text))
          == .closed(code: 1008, reason: "(withheld)"))
    }
    #expect(secrets.clean(.local(detail: "Bearer")) == .local(detail: "Bearer"))
  }
}
