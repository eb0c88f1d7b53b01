import CHoldfastOpenSSL
import HoldfastAssistants
import HoldfastCore
import HoldfastJSON
import HoldfastRelayData
import HoldfastRelayServer

/// Functions that hash tokens and generate the relay's secrets from the system's random source.
enum RelaySecrets {
  /// Generates the secrets for a token request. `hashes` are those of the sign-in, if there is one.
  static func draw(
    _ drawToken: RelayServer.TokenRequest, _ hashes: OAuthHashes? = nil
  ) -> RelayServer.DrawnToken {
    var source = KernelRandom()
    return switch drawToken {
    case .phone(let connection):
      .phone(
        connection, PhoneID(.random(using: &source)), secret(),
        RelayPair(using: &source))
    case .pair(let phone): .pair(phone, RelayPair(using: &source))
    case .access(let ask): .access(ask, secret())
    case .grant(let ask): .access(ask, grant(hashes))
    }
  }

  /// Returns hexadecimal digits that identify this run of the backend.
  static func life() -> String {
    String(UInt64.random(in: 0 ... .max), radix: 16)
  }

  /// Returns the SHA-256 hash of a token (FIPS 180-4).
  static func hash(_ token: String) -> TokenHash {
    guard let hash = TokenHash(digest(Array(token.utf8))) else {
      preconditionFailure("SHA-256 makes 32 bytes")
    }
    return hash
  }

  /// Returns the SHA-256 hash of bytes (FIPS 180-4).
  static func digest(_ input: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    let made = unsafe EVP_Digest(input, input.count, &digest, nil, EVP_sha256(), nil)
    // This fails only if memory is exhausted or the hash function is unknown.
    precondition(made == 1, "SHA-256 makes 32 bytes")
    return digest
  }

  /// Returns the secret of a grant. Its hash needs the backend's key.
  private static func grant(_ hashes: OAuthHashes?) -> RelaySecret {
    let bytes = [UInt8].random(32)
    let text = Base64URL.encode(bytes)
    return RelaySecret(text: text, hash: hashes?.grant(bytes) ?? hash(text))
  }

  /// Returns a secret of 256 random bits, as 43 characters of Base64URL.
  private static func secret() -> RelaySecret {
    let text = Base64URL.encode(.random(32))
    return RelaySecret(text: text, hash: hash(text))
  }
}

/// The kernel's random generator (getrandom), which is suitable for secrets.
///
/// The type has a stored byte because of a problem in Swift 6.3: the thread sanitizer ends the
/// process when a generator without storage, such as the system's, is passed to a function.
private struct KernelRandom: RandomNumberGenerator {
  private let storage: UInt8 = 0

  func next() -> UInt64 {
    var system = SystemRandomNumberGenerator()
    return system.next()
  }
}
