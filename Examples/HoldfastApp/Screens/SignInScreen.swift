import SwiftUI

/// The fields for the secrets of a development server.
struct SignInScreen: View {
  let signIn: SignIn
  @State private var token = ""
  @State private var sessionKey = ""

  var body: some View {
    Form {
      Section("Token of shop and sync") { SecureField("holdfast token", text: $token) }
      Section("Key of the session") { SecureField("session-key", text: $sessionKey) }
      Button("Sign in") { signIn.signIn(token: token, sessionKey: sessionKey) }
        .disabled(token.isEmpty)
      if let failure = signIn.failure { Text(String(describing: failure)) }
    }
    .navigationTitle("Sign in")
  }
}
