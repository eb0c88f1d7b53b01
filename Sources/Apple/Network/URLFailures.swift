#if canImport(Network)
  import Foundation
  package import HoldfastCore

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// A table of the errors of `URLSession`.
  package enum URLFailures {
    /// Returns the failure that an error of an exchange represents.
    package static func failure(_ error: any Error) -> LinkFailure {
      guard let error = error as? URLError else {
        return .local(detail: "URLSession failed with an unknown error.")
      }
      // The description may contain the URL, so only the code is reported.
      let detail = "The error of URLSession is \(error.code.rawValue)."
      return switch error.code {
      case .cannotFindHost, .dnsLookupFailed: .dns(detail: detail)
      case .cannotConnectToHost: .refused
      case .timedOut: .timeout(.response)
      case .networkConnectionLost: .reset
      case .badServerResponse: badResponse(detail)
      case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive:
        .unreachable(detail: detail)
      case .secureConnectionFailed: .tls(.handshake, detail: detail)
      case .serverCertificateHasBadDate: .tls(.expired, detail: detail)
      case .serverCertificateNotYetValid: .tls(.notYetValid, detail: detail)
      case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot:
        .tls(.unknownAuthority, detail: detail)
      case .clientCertificateRejected, .clientCertificateRequired: .tls(.other, detail: detail)
      case .cannotDecodeRawData, .cannotDecodeContentData, .cannotParseResponse:
        .protocolError(detail: detail)
      case _: .local(detail: detail)
      }
    }

    private static func badResponse(_ detail: String) -> LinkFailure {
      #if canImport(FoundationNetworking)
        // FoundationNetworking (Linux) reports a connection that ended before the answer in this way.
        // Apple's framework reports `.networkConnectionLost`.
        .ended
      #else
        .protocolError(detail: detail)
      #endif
    }
  }
#endif
