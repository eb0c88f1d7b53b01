#if canImport(Network)
  import Foundation
  import HoldfastCore
  import Network

  /// A table of the errors of Apple's Network framework.
  enum NetworkFailures {
    /// Returns the failure that corresponds to an error in a phase of a connection.
    static func failure(_ error: NWError, in phase: LinkFailure.Phase) -> LinkFailure {
      switch error {
      case .posix(let code): posix(code, in: phase)
      case .dns(let code): dns(code)
      case .tls(let status): tls(status)
      @unknown default: .unreachable(detail: "Network: \(error)")
      }
    }

    /// Returns the failure that corresponds to an error of a system call.
    static func posix(_ code: POSIXErrorCode, in phase: LinkFailure.Phase) -> LinkFailure {
      switch code {
      case .ECONNREFUSED: .refused
      case .ECONNRESET, .ECONNABORTED, .EPIPE: .reset
      // The stream has ended, and no more bytes can be read.
      case .ENODATA, .ENOTCONN: .ended
      case .ETIMEDOUT: .timeout(phase)
      case .EMFILE, .ENFILE, .ENOBUFS, .ENOMEM, .EACCES, .EPERM, .ECANCELED, .EINVAL:
        .local(detail: text(code))
      // These are ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL and similar errors.
      case _: .unreachable(detail: text(code))
      }
    }

    private static func text(_ code: POSIXErrorCode) -> String {
      POSIXError(code).localizedDescription
    }

    /// Returns the failure that corresponds to a code of the DNS service (dns_sd.h).
    static func dns(_ code: Int32) -> LinkFailure {
      switch code {
      case -65_538, -65_554: .dns(detail: "The name does not exist (\(code)).")
      case -65_539: .local(detail: "Out of memory.")
      case -65_568: .timeout(.resolve)
      // The user has not allowed access to the local network.
      case -65_570: .unreachable(detail: "Access to the local network is not allowed (\(code)).")
      case _: .dns(detail: "The name could not be resolved (\(code)).")
      }
    }

    /// Returns the failure that corresponds to a result code of TLS (SecureTransport.h) or of the
    /// evaluation of trust (SecBase.h).
    static func tls(_ status: Int32) -> LinkFailure {
      switch status {
      // The stream ended during the handshake, and TLS itself is not the cause.
      case -9_805, -9_816: .ended
      case -9_806, -9_844: .reset
      case -9_853: .timeout(.tls)
      case _: .tls(reason(status), detail: "The result of TLS is \(status).")
      }
    }

    /// Returns the reason that corresponds to a result code of TLS.
    private static func reason(_ status: Int32) -> LinkFailure.TLSReason {
      switch status {
      case -9_814, -67_818: .expired
      case -9_815, -67_819: .notYetValid
      case -9_843, -67_602: .wrongHost
      // Apple reports a self-signed certificate as a chain without a trusted root.
      case -9_807, -9_812, -9_813, -67_843, -25_318: .unknownAuthority
      case -67_820: .revoked
      // The peer supports no allowed version, or the version violates the app's transport security.
      case -9_836, -9_881: .version
      // A record that is too long or of an unknown type, such as text.
      case -9_847, -9_849: .notSpoken
      // The other codes of the handshake. Codes from -9825 to -9829 and -9831 concern this end's
      // certificate.
      case -9_802 ... -9_800, -9_842 ... -9_819, -9_846 ... -9_845, -9_848, -9_852 ... -9_850,
        -9_865 ... -9_854:
        .handshake
      case _: .other
      }
    }
  }
#endif
