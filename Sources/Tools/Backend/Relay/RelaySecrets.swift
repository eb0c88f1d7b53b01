import COpenSSL
import LinkCore
import LinkJSON
import LinkServerCore
import LinkStorage

/// Draws the relay's secrets from the system's generator, and hashes tokens.
enum RelaySecrets {
  /// What `mint` asks for.
  static func draw(_ mint: RelayServer.Mint) -> RelayServer.Minted {
    var source = KernelRandom()
    return switch mint {
    case .phone(let connection):
      .phone(
        connection, PhoneID(.random(using: &source)), secret(),
        RelayPair(using: &source))
    case .pair(let phone): .pair(phone, RelayPair(using: &source))
    case .access(let ask): .access(ask, secret())
    }
  }

  /// Hexadecimal digits that no other run of a backend has.
  static func life() -> String {
    String(UInt64.random(in: 0 ... .max), radix: 16)
  }

  /// The SHA-256 of a token (FIPS 180-4).
  static func hash(_ token: String) -> TokenHash {
    let input = Array(token.utf8)
    var digest = [UInt8](repeating: 0, count: 32)
    let made = unsafe EVP_Digest(input, input.count, &digest, nil, EVP_sha256(), nil)
    guard made == 1, let hash = TokenHash(digest) else {
      // It fails only without memory or with a hash it does not know.
      preconditionFailure("SHA-256 makes 32 bytes")
    }
    return hash
  }

  /// 256 random bits as 43 letters and digits.
  private static func secret() -> RelaySecret {
    let text = Base64URL.encode(.random(32))
    return RelaySecret(text: text, hash: hash(text))
  }
}

/// The kernel's generator (getrandom), fit for secrets.
///
/// It takes up a byte: the thread sanitizer of Swift 6.3 cannot watch what is passed along and
/// takes up none, as the system's generator does, and ends the process.
private struct KernelRandom: RandomNumberGenerator {
  private let place: UInt8 = 0

  func next() -> UInt64 {
    var system = SystemRandomNumberGenerator()
    return system.next()
  }
}
