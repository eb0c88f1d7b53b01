#if canImport(SwiftUI)
  import Foundation
  import HoldfastCore
  import SwiftUI

  extension ConnectionState {
    /// A state for each text that a screen can show.
    static let samples: [ConnectionState] = [
      ConnectionState(phase: .connecting, attempt: 1),
      ConnectionState(phase: .live),
      ConnectionState(
        phase: .reconnecting, retryAt: .now + 40, reason: .server, attempt: 3, failure: .refused),
      ConnectionState(phase: .reconnecting, reason: .offline, attempt: 2),
      ConnectionState(phase: .reconnecting, reason: .captivePortal, attempt: 2),
      ConnectionState(phase: .polling, retryAt: .now + 300, reason: .interrupted),
      ConnectionState(phase: .off, reason: .signIn, needsSignIn: true),
      ConnectionState(phase: .off, reason: .security, failure: .tls(.expired, detail: "")),
    ]
  }

  struct ConnectionStatusView_Previews: PreviewProvider {
    static var previews: some View {
      VStack(alignment: .leading, spacing: 16) {
        ForEach(Array(ConnectionState.samples.enumerated()), id: \.offset) { sample in
          ConnectionStatusView(sample.element, retry: {}, signIn: {})
        }
      }
      .padding()
    }
  }
#endif
