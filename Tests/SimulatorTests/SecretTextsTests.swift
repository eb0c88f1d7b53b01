import HoldfastWorlds
import Testing

@testable import HoldfastLinkChecks
@testable import HoldfastWorldKernel

struct SecretTextsTests {
  @Test(arguments: ["abc.def", "x abc.def", "abc.def y", "ababc.def", "zzz", "\u{1F9A2}é-zzz"])
  func `finds a secret anywhere in a text`(text: String) {
    let secrets: SecretTexts = ["abc.def", "zzz"]
    #expect(secrets.appear(in: text))
  }

  @Test(arguments: ["", "ab", "abc.de", "abc.deg", "zz", "z-zz"])
  func `finds no secret in other texts`(text: String) {
    let secrets: SecretTexts = ["abc.def", "zzz"]
    #expect(!secrets.appear(in: text))
  }

  @Test func `a secret has at least three bytes`() {
    let (short, long): (SecretTexts, SecretTexts) = (["ab"], ["abc"])
    #expect(!short.appear(in: "ab abc"))
    #expect(long.appear(in: "ab abc"))
    #expect(!([] as SecretTexts).appear(in: "abc"))
  }
}
