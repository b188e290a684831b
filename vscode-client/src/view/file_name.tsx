// Where a long name may go on in the next line.
const JOINTS = /(?<=[_.-])(?=.)/;

/** A file by its name, which is never cut; what a narrow panel leaves out is of its folder. */
export function FileName({ path }: { path: string }) {
  const cut = path.lastIndexOf("/") + 1;
  return (
    <span class="name" title={path}>
      <span class="base">
        {path
          .slice(cut)
          .split(JOINTS)
          .map((part, index) => (index ? [<wbr key={index} />, part] : part))}
      </span>
      {cut > 0 && <span class="dim folder">{path.slice(0, cut).replace(/\/$/, "")}</span>}
    </span>
  );
}
