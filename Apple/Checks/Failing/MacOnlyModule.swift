// fails on ios, watchos: AppKit
import AppKit

func name() -> String { "" }
