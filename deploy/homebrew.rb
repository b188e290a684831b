# A formula from which `make formula` writes dist/agent-ls.rb.
class AgentLs < Formula
  desc "Coding agent that lives in your language server"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "python@3.13"

  def install
    # The versions of the lock, without its hashes: pip would want one of agent-ls itself, too.
    pins = File.readlines("requirements.lock").grep(/\A[\w.-]+==/).map { |line| line.delete_suffix(" \\\n") }
    (buildpath/"pins.txt").write(pins.join("\n"))
    system "python3.13", "-m", "venv", libexec
    system libexec/"bin/pip", "install", "--constraint", "pins.txt", "."
    bin.install_symlink libexec/"bin/agent-ls"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/agent-ls --version")
  end
end
