import Foundation
import HoldfastLab
import HoldfastTestKit
import Testing

/// Tests of our declarations of JNI beside those of a JDK.
@Suite(
  .enabled(if: JDK.home != nil, "no JDK; install default-jdk-headless"), .timeLimit(.minutes(60)))
struct JavaTableTests {
  private static let tables = [
    ("struct HJNIFunctions", "struct JNINativeInterface_"),
    ("struct HJNIInvocation", "struct JNIInvokeInterface_"),
  ]
  /// Our types, those of `jni.h`, and the names of their members in both.
  private static let types: [(ours: String, theirs: String, members: [(String, String)])] = [
    (
      "HJNIValue", "jvalue", [("z", "z"), ("i", "i"), ("j", "j"), ("d", "d"), ("l", "l")]
    ),
    (
      "HJNINative", "JNINativeMethod",
      [("name", "name"), ("signature", "signature"), ("function", "fnPtr")]
    ),
    (
      "HJNIAttachment", "JavaVMAttachArgs",
      [("version", "version"), ("name", "name"), ("group", "group")]
    ),
    ("HJNIOption", "JavaVMOption", [("text", "optionString"), ("extra", "extraInfo")]),
    (
      "HJNIStart", "JavaVMInitArgs",
      [
        ("version", "version"), ("count", "nOptions"), ("options", "options"),
        ("ignores_unknown", "ignoreUnrecognized"),
      ]
    ),
  ]

  @Test func `each function and member has the place that the JDK gives it`() async throws {
    let header = try String(
      contentsOfFile: "\(Self.include)/holdfast_jni.h", encoding: .utf8)
    var claims: [String] = []
    for (ours, theirs) in Self.tables {
      let names = functions(of: ours, in: header)
      #expect(names.count >= 3)
      claims += names.map { "offsetof(\(ours), \($0)) == offsetof(\(theirs), \($0))" }
    }
    for (ours, theirs, members) in Self.types {
      claims.append("sizeof(\(ours)) == sizeof(\(theirs))")
      claims += members.map { "offsetof(\(ours), \($0)) == offsetof(\(theirs), \($1))" }
    }
    claims += [
      "HJNI_VERSION == JNI_VERSION_1_6", "HJNI_OK == JNI_OK", "HJNI_DETACHED == JNI_EDETACHED",
    ]
    #expect(claims.count > 40)
    try await compile(claims)
  }

  @Test func `a function in the wrong place is found`() async throws {
    await #expect(throws: NetworkLabError.self) {
      try await compile([
        "offsetof(struct HJNIFunctions, NewString) == "
          + "offsetof(struct JNINativeInterface_, NewStringUTF)"
      ])
    }
  }

  private static let include = "\(JDK.package)/Sources/Base/System/CHoldfastJNI/include"

  /// Returns the names of a table's functions in our header.
  private func functions(of table: String, in header: String) -> [String] {
    guard let start = header.range(of: "\(table) {"),
      let end = header[start.upperBound...].range(of: "\n};")
    else { return [] }
    return header[start.upperBound..<end.lowerBound]
      .matches(of: /\(\*_Nonnull (\w+)\)/).map { String($0.1) }
  }

  /// Compiles claims about both headers, none of which may be false.
  private func compile(_ claims: [String]) async throws {
    let scratch = try Scratch()
    let text =
      "#include <jni.h>\n#include <stddef.h>\n#include \"holdfast_jni.h\"\n"
      + claims.map { "_Static_assert(\($0), \"\");\n" }.joined()
    try scratch.write(text.utf8, to: "claims.c")
    let jdk = "\(JDK.home ?? "")/include"
    try await Shell.run([
      "cc", "-std=c11", "-fsyntax-only", "-I\(Self.include)", "-I\(jdk)", "-I\(jdk)/linux",
      scratch("claims.c"),
    ])
  }
}
