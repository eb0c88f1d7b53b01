import Foundation
import HoldfastCore
import Network
import Testing

@testable import HoldfastAppleNetwork

@Suite struct FailureTests {
  @Test(
    arguments: [
      (-9_814, .expired), (-67_818, .expired), (-9_815, .notYetValid), (-67_819, .notYetValid),
      (-9_843, .wrongHost), (-67_602, .wrongHost), (-9_807, .unknownAuthority),
      (-9_812, .unknownAuthority), (-9_813, .unknownAuthority), (-67_843, .unknownAuthority),
      (-67_820, .revoked), (-9_836, .version), (-9_881, .version), (-9_847, .notSpoken),
      (-9_800, .handshake), (-9_802, .handshake), (-9_824, .handshake), (-9_829, .handshake),
      (-9_858, .handshake), (-9_808, .other), (-50, .other), (0, .other),
    ] as [(Int32, LinkFailure.TLSReason)])
  func `a result of TLS has a reason`(status: Int32, reason: LinkFailure.TLSReason) {
    let failure = NetworkFailures.failure(.tls(status), in: .tls)
    #expect(failure == .tls(reason, detail: "The result of TLS is \(status)."))
  }

  @Test(
    arguments: [
      (-9_805, .ended), (-9_816, .ended), (-9_806, .reset), (-9_844, .reset),
      (-9_853, .timeout(.tls)),
    ] as [(Int32, LinkFailure)])
  func `a stream that was lost during TLS is not a failure of TLS`(
    status: Int32, failure: LinkFailure
  ) {
    #expect(NetworkFailures.failure(.tls(status), in: .tls) == failure)
  }

  @Test(
    arguments: [
      (.ECONNREFUSED, .refused), (.ECONNRESET, .reset), (.EPIPE, .reset), (.ECONNABORTED, .reset),
      (.ENOTCONN, .ended), (.ENODATA, .ended), (.ETIMEDOUT, .timeout(.silence)),
    ] as [(POSIXErrorCode, LinkFailure)])
  func `an error of a system call has its failure`(code: POSIXErrorCode, failure: LinkFailure) {
    #expect(NetworkFailures.failure(.posix(code), in: .silence) == failure)
  }

  @Test(arguments: [.ENETUNREACH, .EHOSTUNREACH, .ENETDOWN, .EADDRNOTAVAIL] as [POSIXErrorCode])
  func `an error of routing means that the host is unreachable`(code: POSIXErrorCode) {
    guard case .unreachable(let detail) = NetworkFailures.failure(.posix(code), in: .connect) else {
      Issue.record("\(code)")
      return
    }
    #expect(!detail.isEmpty)
  }

  @Test(arguments: [.EMFILE, .ENOMEM, .EACCES, .ECANCELED] as [POSIXErrorCode])
  func `a lack of resources is a local failure`(code: POSIXErrorCode) {
    guard case .local = NetworkFailures.failure(.posix(code), in: .connect) else {
      Issue.record("\(code)")
      return
    }
  }

  @Test func `an error of name resolution has its failure`() {
    for code: Int32 in [-65_537, -65_538, -65_554, -65_563] {
      guard case .dns(let detail) = NetworkFailures.failure(.dns(code), in: .resolve) else {
        Issue.record("\(code)")
        continue
      }
      #expect(detail.contains("\(code)"))
    }
    #expect(NetworkFailures.failure(.dns(-65_568), in: .connect) == .timeout(.resolve))
    guard case .unreachable = NetworkFailures.failure(.dns(-65_570), in: .connect) else {
      Issue.record("policy")
      return
    }
  }
}
