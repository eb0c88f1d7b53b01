import HoldfastIdentity
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests of signatures with the examples of the specifications.
struct TokenSignatureTests {
  /// An example with a public key.
  struct Example: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var algorithm: SignatureAlgorithm
    var key: String
    var token: String

    func parsed() throws -> (key: IssuerKey, token: CompactToken) {
      let key = try #require(try IssuerKey.readSet(Array(#"{"keys":[\#(key)]}"#.utf8)).first)
      return (key, try CompactToken.split(token).token)
    }

    func isValid(_ change: (inout CompactToken) -> Void = { _ in }) throws -> Bool {
      var (key, token) = try parsed()
      change(&token)
      return TokenSignature.isValid(key, algorithm, token.signingInput, token.signature)
    }
  }

  private static let payload =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290"
    + "Ijp0cnVlfQ"

  private static func rsa(n: String) -> String { #"{"kty":"RSA","e":"AQAB","n":"\#(n)"}"# }

  private static let rs256 = Example(
    testDescription: "RFC 7515 A.2", algorithm: .rs256,
    key:
      rsa(
        n: "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1"
          + "Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpa"
          + "SHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4"
          + "LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"),
    token: "eyJhbGciOiJSUzI1NiJ9.\(payload)."
      + "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O"
      + "8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARN"
      + "PvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ"
      + "1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw")

  private static let es256 = Example(
    testDescription: "RFC 7515 A.3", algorithm: .es256,
    key: #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
      + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
    token: "eyJhbGciOiJFUzI1NiJ9.\(payload)."
      + "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")

  private static let edDSA = Example(
    testDescription: "RFC 8037 A.4", algorithm: .edDSA,
    key: #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
    token: "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
      + "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg")

  /// A token that Python's cryptography signed with a salt of 32 bytes.
  private static let ps256 = Example(
    testDescription: "PS256", algorithm: .ps256,
    key:
      rsa(
        n: "w7YUaMk9QrFdsQ5Q8_HzOiydH8n2gmKhmV9Njf61o6kWClC6SjEgyI8SN1iDNs69P0KCFRfJ_tHkLuiAtUXX9Z"
          + "RZ9Wo8UDssY-MGduchzds8EwlEmMnxwZo0NpBtLdP3H25MYWsAqUJeDnSs8s5HKdAn1xUUq1OI4r6JPiaAKLEO"
          + "-khGROV00HCIedzeCbkZcx71FpMqzND5IEFO2fLqMghOpNHSR9l6m0H1bC4vKAvI0_-E7RqQZg5c1FjLzoJn7P"
          + "G9W3uucWLmyRc8q0g1jbFRrW8akNoNU95-8rMCGJpdGvSI8ay-DpacskTKQs5HILAdKlCsrnyfkCVcevqi-w"),
    token: "eyJhbGciOiJQUzI1NiJ9.\(payload)."
      + "JDiYQpsT4RA2ubUxVsfOIQBK4yJsUxwkv2lgRmtgrCCnVULgSlM4iAD1Sh3SXNlWjcJ5LDkLrV8i_ltSvjd4N0"
      + "C7ZTZKXRNcJOyHjN2zQ24VjZrz-LPOYibcG_pxHGsqDxoZDWrXYtgoslrh1COodt3Bs37WFnrobTylM6fMvnKb"
      + "_nUvXBD-iysZnDrXedBlGzipwjhBEqC3det1PHtafdgtu19gWpNwT-62VpypJIYtiiMVrltITvPoHLDlRiBGuh"
      + "UO0eh1RWeF5F7IREkjxcJhlrXtA_nKPEDj2lzmV3ArxFXnqj-Pn4nZZDbAlLitXB6utcERE6f2TBXMmFchLQ")

  @Test(arguments: [rs256, es256, edDSA, ps256])
  func `accepts the examples of the specifications`(example: Example) throws {
    #expect(try example.isValid())
  }

  @Test(arguments: [rs256, es256, edDSA, ps256])
  func `refuses each changed bit, and other lengths`(example: Example) throws {
    let count = try example.parsed().token.signature.count
    for bit in stride(from: 0, to: count * 8, by: 7) {
      #expect(try !example.isValid { $0.signature[bit / 8] ^= 1 << (bit % 8) })
    }
    #expect(try !example.isValid { $0.signature = [] })
    #expect(try !example.isValid { $0.signature.removeLast() })
    #expect(try !example.isValid { $0.signature.append(0) })
    #expect(try !example.isValid { $0.signature = [UInt8](repeating: 0, count: count) })
    #expect(try !example.isValid { $0.signature = [UInt8](repeating: 0xFF, count: count) })
    #expect(try !example.isValid { $0.signingInput[0] ^= 1 })
    #expect(try !example.isValid { $0.signingInput = [] })
  }

  @Test func `a key serves its own algorithms alone`() throws {
    for example in [Self.rs256, Self.es256, Self.edDSA, Self.ps256] {
      let (key, token) = try example.parsed()
      for other in SignatureAlgorithm.allCases where other != example.algorithm {
        #expect(!TokenSignature.isValid(key, other, token.signingInput, token.signature))
      }
    }
  }

  @Test func `a point that is not on the curve is no key`() throws {
    let token = try Self.es256.parsed().token
    let key = IssuerKey(
      id: nil, .p256(x: [UInt8](repeating: 1, count: 32), y: [UInt8](repeating: 1, count: 32)))
    #expect(!TokenSignature.isValid(key, .es256, token.signingInput, token.signature))
  }
}
