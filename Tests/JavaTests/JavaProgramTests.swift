import Foundation
import HoldfastLab
import HoldfastTestKit
import Testing

/// A test with a `java` program that loads Swift code, as an app does.
@Suite(
  .enabled(if: JDK.home != nil, "no JDK; install default-jdk-headless"), CompiledJava(),
  .timeLimit(.minutes(60)))
struct JavaProgramTests {
  private static let build = URL(filePath: CommandProcess.path).deletingLastPathComponent().path
  /// The objects of the adapters and the modules below them.
  private static let objects = ["HoldfastJNI", "CHoldfastJNI", "HoldfastPorts", "HoldfastCore"]
    .flatMap { module in
      let folder = "\(build)/\(module).build"
      return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
        .filter { $0.hasSuffix(".o") }.map { "\(folder)/\($0)" }
    }

  @Test(.enabled(if: !objects.isEmpty, "needs the objects of a debug build in .build"))
  func `a Java program loads a library that uses the public API, and ends by itself`() async throws
  {
    let scratch = try Scratch()
    let library = scratch("libprogram.so")
    try await Shell.run(
      [
        "swiftc", "-swift-version", "6", "-parse-as-library", "-emit-library", "-module-name",
        "Program", "-I", "\(Self.build)/Modules", "-Xcc",
        "-fmodule-map-file=\(Self.build)/CHoldfastJNI.build/module.modulemap",
        "\(JDK.package)/Tests/JavaTests/Scripted/Library.swift", "-o", library,
      ] + Self.objects)
    let output = try await Shell.run([
      "\(JDK.home ?? "")/bin/java", "-Xcheck:jni", "-cp",
      CompiledJava.folder, "holdfast.tests.Program", library,
    ])
    // Java 24 and later warn of each library that a program loads.
    let lines = output.split(separator: "\n").filter { !$0.hasPrefix("WARNING: ") }
    #expect(lines == ["foreground", "background", "given"])
  }
}
